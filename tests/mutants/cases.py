"""Evidence and what rules have to say of it: good histories, and one of each corruption."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from chaos.checker.evidence import Evidence
from chaos.checker.finding import Invariant
from chaos.checker.result import Answer, Result
from chaos.checker.tables import TABLES
from chaos.checker.verdict import ask
from chaos.specimens import Varied
from tests.unit.checker.corruptions import CORRUPTIONS, ODD, Corruption

GOOD_SEEDS = range(4)


@dataclass(frozen=True)
class Case:
    """Evidence, and what has to be said of it: a corruption is found, pointed at and charged to no other rule."""

    evidence: Evidence
    unknown: frozenset[str] = frozenset()
    corruption: Corruption | None = None
    order_id: str | None = None

    @property
    def rule(self) -> str:
        return self.corruption.rule if self.corruption else ""

    def is_answered(self, rules: Sequence[Invariant]) -> bool:
        """Say whether these rules say what they have to."""
        return all(map(self._is_right, ask(self.evidence, rules, canaries=False).results))

    def _is_right(self, result: Result) -> bool:
        if Answer.UNKNOWN is result.answer or result.invariant in self.unknown:
            return Answer.UNKNOWN is result.answer and result.invariant in self.unknown
        if self.corruption and result.invariant == self.corruption.rule:
            broken = result.answer is Answer.BROKEN
            return broken and self.corruption.is_pointed_at(self.order_id, result.counterexamples)
        return result.answer is not Answer.BROKEN or bool(self.corruption and result.invariant in self.corruption.also)


def cases(directory: Path, seed: int) -> Iterator[Case]:
    """Yield good histories, odd ones, and one of each corruption."""
    for good in GOOD_SEEDS:
        yield Case(_evidence(Varied(good), directory / f"good-{good}"))
    for number, oddity in enumerate(ODD):
        history = Varied(seed)
        oddity.change(history)
        yield Case(_evidence(history, directory / f"odd-{number}"), oddity.unknown)
    for number, corruption in enumerate(CORRUPTIONS):
        history = Varied(seed)
        order_id = corruption.spoil(history)
        yield Case(_evidence(history, directory / f"{seed}-{number}"), frozenset(), corruption, order_id)


def _evidence(history: Varied, directory: Path) -> Evidence:
    directory.mkdir()
    evidence = Evidence.of(history.write(directory))
    for table in TABLES:
        evidence.has(table)
    return evidence
