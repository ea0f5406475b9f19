"""The files of a run as rows that a test may change before they are written.

``rows["log"]`` becomes log.jsonl, ``rows["db/orders/orders"]`` db/orders/orders.jsonl. Looking a row up is a walk
through its table, which is right for a few dozen orders; whoever wants a hundred thousand flushes now and then.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import md5
from pathlib import Path
from typing import Any
from uuid import UUID

Row = dict[str, Any]

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
PARTITIONS = 4
GROUPS = {
    "billing": ["orders.events"],
    "analytics": ["orders.events", "billing.events"],
    "orders": ["billing.events"],
}
EMPTY_TABLES = (
    *(f"db/{d}/{t}" for d in ("orders", "billing") for t in ("outbox", "inbox", "outbox_parked", "relay_lane")),
    *(f"db/{d}/relay_position" for d in ("orders", "billing")),
    "db/orders/orders", "db/orders/idempotency_key",
    *(f"db/billing/{t}" for t in ("bill", "payment", "invoice", "credit_note", "number_series")),
    "db/analytics/inbox", "db/analytics/revenue", "db/analytics/orders_by_state", "db/analytics/order_state",
    "db/analytics/orders_by_day", "db/analytics/ordered_skus",
    "db/notifications/sent_email", "intents", "log", "deliveries", "mail", "faults", "processes", "owners",
)  # fmt: skip
KEPT = (
    *(f"db/{d}/{t}" for d in ("orders", "billing") for t in ("relay_lane", "relay_position")),
    "db/billing/number_series", "db/analytics/revenue", "db/analytics/orders_by_state",
    "db/analytics/orders_by_day", "db/analytics/ordered_skus", "faults", "processes", "owners",
)  # fmt: skip
"""What a flush leaves where it is: rows that later orders still change."""


class Rows:
    """The tables, the marks of the log, and a clock of its own that goes on by three milliseconds a look."""

    def __init__(self, **expect: Any) -> None:
        self.rows: dict[str, list[Row]] = {table: [] for table in EMPTY_TABLES}
        self.run: Row = {
            "run": "test-1", "scenario": "test", "seed": 7, "started_at": iso(START), "ended_at": iso(START),
            "expect": expect, "groups": dict(GROUPS), "guard_off": None, "canaries": True,
        }  # fmt: skip
        self.offsets: dict[str, Any] = {}
        self.torn: dict[str, str] = {}
        self.ends: dict[tuple[str, int], int] = defaultdict(int)
        self._flushed: set[str] = set()
        self._now = START
        self._ids = 0

    def the(self, table: str, **wanted: Any) -> Row:
        """Return the one row (the first one) that has these values."""
        return next(self.all(table, **wanted))

    def all(self, table: str, **wanted: Any) -> Iterator[Row]:
        return (row for row in self.rows[table] if all(row[name] == value for name, value in wanted.items()))

    def drop(self, table: str, **wanted: Any) -> None:
        """Remove the rows that have these values; a test that removes nothing is a mistake."""
        before = len(self.rows[table])
        self.rows[table] = [r for r in self.rows[table] if any(r[name] != value for name, value in wanted.items())]
        assert len(self.rows[table]) < before, f"no row of {table} has {wanted}"

    def new_id(self) -> str:
        self._ids += 1
        return str(UUID(int=0x0190_0000_0000_7000_8000_0000_0000_0000 + self._ids))

    def tick(self) -> str:
        self._now += timedelta(milliseconds=3)
        return iso(self._now)

    def write(self, directory: Path) -> Path:
        """Write every file, behind what was flushed before; a table taken out of `rows` is left out."""
        for table in self.rows:
            self._append(directory, table)
        self.run["ended_at"] = self.tick()
        (directory / "run.json").write_text(json.dumps(self.run))
        (directory / "offsets.json").write_text(json.dumps(self.offsets))
        return directory

    def flush(self, directory: Path) -> None:
        """Write what is there and forget it, but for the rows that go on changing."""
        for table in self.rows.keys() - set(KEPT):
            self._append(directory, table)
            self._flushed.add(table)
            self.rows[table] = []

    def _append(self, directory: Path, table: str) -> None:
        path = directory / f"{table}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a" if table in self._flushed else "w") as file:
            file.writelines(json.dumps(row, separators=(",", ":")) + "\n" for row in self.rows[table])
            file.write(self.torn.get(table, ""))


def iso(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds")


def lane_of(aggregate_id: str) -> int:
    return md5(aggregate_id.encode(), usedforsecurity=False).digest()[0] % 16
