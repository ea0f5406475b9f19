"""The first mutation score: corrupted histories that the checker finds, wherever the dice have put them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from chaos.checker.registry import INVARIANTS
from chaos.checker.verdict import Answer, Status, judge
from chaos.specimens import Varied
from tests.unit.checker.corruptions import CORRUPTIONS, ODD, Corruption, Odd

FEW, MANY = range(2), range(2, 12)


@pytest.mark.parametrize("seed", range(20))
def test_a_good_history_of_any_shape_passes(tmp_path: Path, seed: int) -> None:
    """Whatever the dice make of orders, answers, copies, replays, members and parked entries, nothing is accused."""
    verdict = judge(Varied(seed).write(tmp_path))

    assert verdict.broken == ()
    assert verdict.status is Status.PASS


@pytest.mark.parametrize("case", ODD, ids=lambda case: str(case.title))
def test_what_is_odd_breaks_nothing(tmp_path: Path, case: Odd) -> None:
    """At the edge of a bound, or where nothing was asked for, no rule accuses anybody."""
    for seed in FEW:
        history = Varied(seed)
        case.change(history)
        directory = tmp_path / str(seed)
        directory.mkdir()

        verdict = judge(history.write(directory), canaries=False)

        assert verdict.broken == ()
        assert {*verdict.unknown} == case.unknown


@pytest.mark.parametrize("case", CORRUPTIONS, ids=lambda case: f"{case.rule}: {case.title}")
def test_a_corruption_is_found_by_its_rule_and_by_no_unrelated_one(case: Corruption) -> None:
    """Each corruption breaks its rule, which names its order, and breaks none that is not named beside it."""
    assert [problem for seed in FEW for problem in problems(case, seed)] == []


def test_every_rule_is_corrupted() -> None:
    """No rule is without a corruption of its own."""
    assert {invariant.id for invariant in INVARIANTS} == {case.rule for case in CORRUPTIONS}


@pytest.mark.full
@pytest.mark.timeout(900)
def test_the_score_is_whole(capsys: pytest.CaptureFixture[str]) -> None:
    """Of all corruptions in many histories, not one is missed, misnamed, or charged to an unrelated rule."""
    found = {(case.title, seed): [*problems(case, seed)] for seed in MANY for case in CORRUPTIONS}
    missed = [problem for some in found.values() for problem in some]
    with capsys.disabled():
        sys.stdout.write(f"\ncorrupted histories found: {sum(not some for some in found.values())} of {len(found)}\n")

    assert missed == []


def problems(case: Corruption, seed: int) -> Iterator[str]:
    """Corrupt the history of a seed, judge it, and say what was not as it should be."""
    history = Varied(seed)
    order_id = case.spoil(history)
    with TemporaryDirectory() as directory:
        verdict = judge(history.write(Path(directory)), canaries=False)
    where = f"{case.rule}, {case.title}, seed {seed}"
    result = next(result for result in verdict.results if result.invariant == case.rule)
    if result.answer is not Answer.BROKEN:
        yield f"{where}: missed"
    elif not case.is_pointed_at(order_id, result.counterexamples):
        yield f"{where}: found, and order {order_id} or its event not named"
    accused = {*verdict.broken, *verdict.unknown} - {case.rule} - case.also
    if accused:
        yield f"{where}: {sorted(accused)} were accused"
