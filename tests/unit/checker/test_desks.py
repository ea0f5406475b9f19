"""A large run is judged in two processes, and nobody can tell by the verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chaos.checker.canary import Fate
from chaos.checker.desks import SECOND, SecondDesk
from chaos.checker.evidence import Evidence
from chaos.checker.registry import INVARIANTS
from chaos.checker.sample import sample
from chaos.checker.verdict import Answer, Status, judge
from chaos.specimens import every_shape


def test_two_desks_come_to_the_verdict_of_one(tmp_path: Path) -> None:
    """Answers, canaries, counts, torn lines and stories are the same, in the same order, good or bad."""
    history = every_shape()
    history.torn["db/analytics/inbox"] = '{"consumer": "ana'
    history.rows["db/billing/payment"][0]["amount_minor"] += 1
    history.rows["mail"].pop()
    history.write(tmp_path)

    assert judge(tmp_path, large_bytes=0) == judge(tmp_path)


def test_a_good_run_passes_at_two_desks(tmp_path: Path) -> None:
    """Every canary is found, whichever desk releases it."""
    verdict = judge(every_shape().write(tmp_path), large_bytes=0)

    assert verdict.status is Status.PASS
    assert len(verdict.canaries) == len(INVARIANTS)


def test_a_desk_that_dies_has_answered_nothing(tmp_path: Path) -> None:
    """The rules of a killed process are UNKNOWN, and its canaries were not planted."""
    asked = [invariant for invariant in INVARIANTS if invariant.id in SECOND]
    with SecondDesk(every_shape().write(tmp_path), asked, canaries=True) as desk:
        desk.process.kill()
        answers = desk.answers()

    assert {result.invariant for result in answers.results} == SECOND
    assert {result.answer for result in answers.results} == {Answer.UNKNOWN}
    assert {canary.fate for canary in answers.canaries} == {"not planted"}


def test_the_second_desk_loads_no_outbox(tmp_path: Path) -> None:
    """Neither its rules nor their canaries, which took a fifth of its time and memory as long as one of them did.

    Seen red with the canaries of S08 and S09 picking an event that an outbox has.
    """
    every_shape().write(tmp_path)
    for outbox in tmp_path.glob("db/*/outbox.jsonl"):
        outbox.unlink()
    asked = [invariant for invariant in INVARIANTS if invariant.id in SECOND]
    with SecondDesk(tmp_path, asked, canaries=True) as desk:
        answers = desk.answers()

    assert Answer.UNKNOWN not in {result.answer for result in answers.results}
    assert {canary.fate for canary in answers.canaries} == {Fate.FOUND}


def test_a_sample_asks_no_outbox_what_was_spoiled_where_nothing_is_named(tmp_path: Path) -> None:
    """Seen red with a sample that looks for the outbox first, which loads it."""
    evidence, asked = Evidence.of(every_shape().write(tmp_path)), list[str]()

    def table(name: str) -> list[Any]:
        asked.append(name)
        return evidence.table(name)

    sample(Evidence(table, evidence.run))
    assert "orders" in asked
    assert "events" not in asked


def test_what_was_forgotten_is_loaded_anew(tmp_path: Path) -> None:
    """A table that the evidence let go of, and an index of it, say the same when they are asked for once more."""
    evidence = Evidence.of(every_shape().write(tmp_path))
    intents, attempts = evidence.intents, evidence.attempts_of

    evidence.forget("intents")

    assert evidence.intents == intents
    assert evidence.intents is not intents
    assert evidence.attempts_of == attempts
    assert evidence.attempts_of is not attempts
