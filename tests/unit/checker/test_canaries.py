"""A checker that has gone blind is caught by its own canaries."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from chaos.checker.canary import Fate
from chaos.checker.evidence import Evidence
from chaos.checker.finding import Counterexample, Invariant
from chaos.checker.registry import INVARIANTS
from chaos.checker.verdict import Answer, Status, judge
from chaos.specimens import History, every_shape
from tests.unit.checker.bad import BAD, Bad


def always_holds(_evidence: Evidence) -> Iterator[Counterexample]:
    return iter(())


def always_breaks_down(_evidence: Evidence) -> Iterator[Counterexample]:
    raise RuntimeError("sabotaged")


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return every_shape(fencing=False).write(tmp_path_factory.mktemp("good"))


@pytest.mark.parametrize("blind", INVARIANTS, ids=lambda invariant: invariant.id)
def test_a_rule_that_always_holds_is_a_dead_checker(good: Path, blind: Invariant) -> None:
    """Each rule in turn replaced by one that finds nothing turns a PASS into CHECKER_DEAD, by its own canary."""
    sabotaged = [replace(i, check=always_holds) if i is blind else i for i in INVARIANTS]

    verdict = judge(good, invariants=sabotaged)

    assert verdict.status is Status.CHECKER_DEAD
    assert [c.invariant for c in verdict.canaries if c.fate is not Fate.FOUND] == [blind.id]
    assert verdict.broken == ("W07",)


def test_a_rule_that_breaks_down_is_no_pass(good: Path) -> None:
    """A check that raises has looked at nothing: it is UNKNOWN, and its canary is missed."""
    sabotaged = [replace(i, check=always_breaks_down) if i.id == "S11" else i for i in INVARIANTS]

    verdict = judge(good, invariants=sabotaged)

    assert verdict.unknown == ("S11",)
    assert verdict.status is Status.CHECKER_DEAD


def test_canaries_leave_the_evidence_alone(good: Path) -> None:
    """Planting violations changes neither the files nor what a second judgement says."""
    before = {path: path.read_bytes() for path in good.rglob("*") if path.is_file()}

    assert judge(good).status is judge(good).status is Status.PASS
    assert {path: path.read_bytes() for path in good.rglob("*") if path.is_file()} == before


def test_a_run_with_nothing_to_spoil_says_so(tmp_path: Path) -> None:
    """Where a canary cannot be planted, W07 is broken and the run is VACUOUS: the checker was not tested."""
    history = History(operations=[])
    history.order("declined", amount=1_000_001)

    verdict = judge(history.finish().write(tmp_path))

    assert {c.fate for c in verdict.canaries} == {Fate.FOUND, Fate.NOTHING_TO_SPOIL}
    assert verdict.broken == ("W07",)
    assert verdict.status is Status.VACUOUS


def test_canaries_can_be_left_out(good: Path) -> None:
    """Without canaries W07 does not apply."""
    verdict = judge(good, canaries=False)

    assert verdict.canaries == ()
    assert next(r.answer for r in verdict.results if r.invariant == "W07") is Answer.NOT_APPLICABLE


def missed(history: History, directory: Path) -> list[str]:
    verdict = judge(history.write(directory))
    return [bird.invariant for bird in verdict.canaries if bird.fate in (Fate.MISSED, Fate.NOTHING_TO_SPOIL)]


@pytest.mark.parametrize("case", BAD, ids=lambda case: f"{case.rule}: {case.title}")
def test_a_red_run_still_finds_its_canaries(tmp_path: Path, case: Bad) -> None:
    """A real violation does not hide a planted one, not even that of its own rule."""
    history = every_shape()
    case.spoil(history)

    assert missed(history, tmp_path) == []


@pytest.mark.parametrize("lost", range(0, 40, 3))
def test_events_that_were_lost_already_hide_no_canary(tmp_path: Path, lost: int) -> None:
    """Whichever event a broken relay has lost, the canary takes another one."""
    history = every_shape()
    for event in history.rows["db/orders/outbox"][lost : lost + 3]:
        history.unpublish(event["event_id"])

    assert missed(history.finish(), tmp_path) == []


@pytest.mark.parametrize("by", [-2, -1, 1, 2])
def test_amounts_that_are_wrong_already_hide_no_canary(tmp_path: Path, by: int) -> None:
    """A canary does not put right what lacked a cent."""
    history = every_shape()
    for invoice in history.rows["db/billing/invoice"]:
        invoice["amount_minor"] += by

    assert missed(history, tmp_path) == []


@pytest.mark.parametrize("table", every_shape().rows)
def test_doubled_rows_hide_no_canary(tmp_path: Path, table: str) -> None:
    """A planted violation is seen where every row of a table stands twice."""
    history = every_shape()
    history.rows[table] *= 2

    assert missed(history, tmp_path) == []


@pytest.mark.parametrize("state", ["placed", "confirmed", "declined", "cancelled"])
def test_orders_that_are_all_at_one_place_hide_no_canary(tmp_path: Path, state: str) -> None:
    """Where no order moves on, or all end alike, one that ends nowhere is still seen."""
    history = every_shape()
    for order in history.rows["db/orders/orders"]:
        order["state"] = state

    assert missed(history, tmp_path) == []


def test_a_relay_that_settles_nothing_hides_no_canary(tmp_path: Path) -> None:
    """A relay that keeps no position of ours is tested for S05 all the same."""
    history = every_shape()
    for database in ("orders", "billing"):
        for row in history.rows[f"db/{database}/relay_position"]:
            row.update(done="1:1:", target=None, after_id=0)

    assert missed(history, tmp_path) == []


def test_a_key_that_made_two_orders_hides_no_canary(tmp_path: Path) -> None:
    """The canary is planted in an order that answers for its key, and not in the second one of another key."""
    history = every_shape()
    second = next(history.all("intents", op="place", result="ok"))
    history.rows["intents"].remove(second)
    history.rows["intents"][:0] = [{**second, "n": 10_000, "order_id": history.new_id()}, second]

    assert missed(history, tmp_path) == []


@pytest.mark.parametrize("seed", range(12))
def test_several_violations_at_once_hide_no_canary(tmp_path: Path, seed: int) -> None:
    """Three corruptions laid over one another still leave every canary found."""
    history = every_shape()
    for case in random.Random(seed).sample(BAD, 3):
        try:
            case.spoil(history)
        except (StopIteration, IndexError, KeyError, AssertionError):
            continue  # an earlier one has taken away what this one spoils

    assert missed(history, tmp_path) == []
