"""The run's time axis, and counts that go up and down along it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from chaos.checker.evidence import Evidence

Change = tuple[float, int]
"""When, and by how much."""


def seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


@dataclass(frozen=True, slots=True)
class Axis:
    """From the first thing that happened to the last."""

    begin: float
    end: float

    @classmethod
    def of(cls, evidence: Evidence) -> Axis:
        """Raises ValueError when nothing happened that has a time."""
        moments = [
            *(event.occurred_at for event in rows(evidence, "events")),
            *(row.applied_at for row in rows(evidence, "inbox")),
            *(mark.at for mark in rows(evidence, "faults")),
            *(mail.at for mail in rows(evidence, "mails")),
        ]
        if not moments:
            raise ValueError("nothing happened in this run")
        begin = seconds(min(moments))
        return cls(begin, max(seconds(max(moments)), begin + 1.0))

    def share(self, moment: float) -> float:
        """Where on the axis a moment is, from 0 to 1."""
        return min(1.0, max(0.0, (moment - self.begin) / (self.end - self.begin)))

    def ticks(self) -> list[float]:
        """Round seconds since the beginning, about eight of them."""
        length = self.end - self.begin
        step = next((s for s in (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800) if length / s <= 9), 3600)
        return [float(step * n) for n in range(int(length // step) + 1)]


def rows(evidence: Evidence, table: str) -> Sequence[Any]:
    """A table, or nothing when it is missing: a report with holes is better than none."""
    return evidence.table(table) if evidence.has(table) else []


def peaks(changes: Iterable[Change], axis: Axis, cells: int) -> list[int]:
    """The highest count in each of so many equal stretches of the axis; a short peak is not averaged away."""
    highest, count, cell = [0] * cells, 0, 0
    for moment, by in sorted(changes):
        now = min(cells - 1, int(axis.share(moment) * cells))
        for quiet in range(cell + 1, now + 1):
            highest[quiet] = max(highest[quiet], count)
        cell, count = now, count + by
        highest[cell] = max(highest[cell], count)
    for quiet in range(cell + 1, cells):
        highest[quiet] = count
    return highest


def quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
