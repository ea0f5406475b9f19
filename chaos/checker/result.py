"""The verdict as data, and the order in which one bad thing outranks another.

FAIL (1) > CHECKER_DEAD (4) > UNKNOWN (2) > VACUOUS (3) > PASS (0): what was seen to be wrong is said first; then that
the checker cannot be trusted; then that something could not be looked at; then that the run tried nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from chaos.checker.canary import Canary, Fate
from chaos.checker.finding import Counterexample, Family
from chaos.checker.story import Story


class Status(StrEnum):
    FAIL = "FAIL"
    CHECKER_DEAD = "CHECKER_DEAD"
    UNKNOWN = "UNKNOWN"
    VACUOUS = "VACUOUS"
    PASS = "PASS"  # noqa: S105 - a verdict, not a password

    @property
    def exit_code(self) -> int:
        return {Status.PASS: 0, Status.FAIL: 1, Status.UNKNOWN: 2, Status.VACUOUS: 3, Status.CHECKER_DEAD: 4}[self]


class Answer(StrEnum):
    HOLDS = "holds"
    BROKEN = "broken"
    UNKNOWN = "unknown"
    WARNING = "warning"
    """Seen, of a rule that this run does not claim to keep."""
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, slots=True)
class Result:
    """One invariant's answer. `count` violations were found, of which the first few are kept."""

    invariant: str
    meaning: str
    family: Family
    answer: Answer
    reason: str = ""
    count: int = 0
    counterexamples: tuple[Counterexample, ...] = ()


@dataclass(frozen=True, slots=True)
class Recovery:
    """How long after the last healing the orders that waited for their invoice then got it."""

    orders: int
    p50_seconds: float
    p95_seconds: float
    max_seconds: float


@dataclass(frozen=True, slots=True)
class Verdict:
    status: Status
    run: str
    scenario: str
    seed: int | None
    guard_off: str | None
    results: tuple[Result, ...]
    canaries: tuple[Canary, ...]
    counts: Mapping[str, int]
    torn_lines: Mapping[str, int]
    stories: tuple[Story, ...]
    recovery: Recovery | None = None

    @property
    def exit_code(self) -> int:
        return self.status.exit_code

    @property
    def broken(self) -> tuple[str, ...]:
        """The ids of the invariants that were seen broken, of every family."""
        return self._ids(Answer.BROKEN)

    @property
    def unknown(self) -> tuple[str, ...]:
        return self._ids(Answer.UNKNOWN)

    def _ids(self, answer: Answer) -> tuple[str, ...]:
        return tuple(result.invariant for result in self.results if result.answer is answer)


def status_of(results: Iterable[Result], canaries: Iterable[Canary]) -> Status:
    """Return the verdict that these answers come to."""
    answers = {(result.answer, result.family is Family.VACUITY) for result in results}
    if (Answer.BROKEN, False) in answers:
        return Status.FAIL
    if any(canary.fate is Fate.MISSED for canary in canaries):
        return Status.CHECKER_DEAD
    if any(answer is Answer.UNKNOWN for answer, _vacuity in answers):
        return Status.UNKNOWN
    if (Answer.BROKEN, True) in answers:
        return Status.VACUOUS
    return Status.PASS
