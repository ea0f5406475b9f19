"""The evidence of as many orders as one likes, written in pieces: what the checker's speed is measured on."""

from __future__ import annotations

import random
from itertools import groupby
from pathlib import Path

from chaos.specimens.history import History
from chaos.specimens.rows import Row

PIECE = 50
SHAPES = {"invoiced": 75, "declined": 5, "cancelled": 6, "cancelled_early": 14}
REPUBLISHED = 0.05
EXPECT = {
    "duplicates": ["log", "deliveries"], "suppressed": True, "owner_change": ["billing"], "pending_pairs": 1,
    "overlap": True, "progress": True, "recovery_seconds": 30,
}  # fmt: skip


def write_large(directory: Path, orders: int, seed: int = 1) -> Path:
    """Write a good history of so many orders. The same seed gives the same files."""
    dice = random.Random(seed)  # noqa: S311 - a plan, not a secret
    history = History(**EXPECT)
    for begun in range(0, orders, PIECE):
        for _order in range(min(PIECE, orders - begun)):
            _add(history, dice)
        _publish_again(history, dice)
        if begun == orders // 2 // PIECE * PIECE:
            _strike(history)
        history.rows["deliveries"] = _in_ranges(history.rows["deliveries"])
        history.flush(directory)
    return history.finish().write(directory)


def _add(history: History, dice: random.Random) -> None:
    shape = dice.choices([*SHAPES], [*SHAPES.values()])[0]
    amount = dice.randint(100, 90_000) if shape != "declined" else 1_500_000
    history.order(shape, amount, dice.choice(("EUR", "JPY", "KWD", "USD")), burst=shape == "cancelled_early")


def _publish_again(history: History, dice: random.Random) -> None:
    outbox = history.rows["db/orders/outbox"]
    for event in dice.sample(outbox, round(len(outbox) * REPUBLISHED)):
        history.publish(event)


def _strike(history: History) -> None:
    """A relay is killed while an order is under way, and another member takes over."""
    history.fault("relay-killed-after-publish")
    order_id = history.order("invoiced", 1999)
    history.deliver("billing", history.the("log", aggregate_id=order_id), instance="billing-2", generation=2)
    invoice = history.the("db/billing/invoice", order_id=order_id)
    for mark in history.all("faults", phase="hit"):
        mark["at"] = invoice["applied_at"]
    history.the("faults", phase="heal")["at"] = history.tick()


def _in_ranges(deliveries: list[Row]) -> list[Row]:
    """Say of neighbouring offsets in one line what the consumers say in one line."""

    def kind(row: Row) -> tuple[object, ...]:
        return row["group"], row["topic"], row["partition"], row["instance"], row["generation"], row["duplicate"]

    lines: list[Row] = []
    for _kind, rows in groupby(sorted(deliveries, key=lambda r: (kind(r), r["offset"])), key=kind):
        for row in rows:
            if lines and kind(lines[-1]) == kind(row) and lines[-1]["last_offset"] == row["offset"] - 1:
                lines[-1]["last_offset"] = row["offset"]
            else:
                lines.append({**row, "last_offset": row["offset"]})
    return sorted(lines, key=lambda row: row["at"])
