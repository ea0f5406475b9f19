"""A large run is judged in two processes, and nobody can tell by the verdict."""

from __future__ import annotations

from pathlib import Path

from chaos.checker.desks import SECOND, SecondDesk
from chaos.checker.registry import INVARIANTS
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
