"""PostgreSQL's transaction snapshots, and what a relay's position says about a row.

A snapshot is the text `xmin:xmax:xip,…`: everything below xmin has ended, nothing from xmax on has, and of what lies
between, the listed transactions were still running (PostgreSQL manual, "Transaction ID and Snapshot Information
Functions"). Only committed rows reach a dump, so "ended" is "committed" here.
"""

from __future__ import annotations

from dataclasses import dataclass

from chaos.checker.records import Event, Lane


@dataclass(frozen=True, slots=True)
class Snapshot:
    xmin: int
    xmax: int
    running: frozenset[int]

    @classmethod
    def parse(cls, text: str) -> Snapshot:
        """Read the text form. Raises ValueError when it is none."""
        xmin, xmax, running = text.split(":")
        return cls(int(xmin), int(xmax), frozenset(int(xid) for xid in running.split(",") if xid))

    def sees(self, xid: int) -> bool:
        """Say whether a row written by this transaction is visible (`pg_visible_in_snapshot`)."""
        if xid < self.xmin:
            return True
        return xid < self.xmax and xid not in self.running


@dataclass(frozen=True, slots=True)
class Position:
    """A lane's position: what is done, and how far the stored pass has come."""

    done: Snapshot
    target: Snapshot | None
    after_id: int

    @classmethod
    def of(cls, lane: Lane) -> Position:
        return cls(Snapshot.parse(lane.done), Snapshot.parse(lane.target) if lane.target else None, lane.after_id)

    def settled(self, event: Event) -> bool:
        """Say whether the relay claims to have published this row."""
        if self.done.sees(event.xid):
            return True
        return self.target is not None and event.id <= self.after_id and self.target.sees(event.xid)
