"""Visibility in a transaction snapshot, as PostgreSQL defines it."""

from __future__ import annotations

import pytest

from chaos.checker.records import Event, Lane
from chaos.checker.snapshot import Position, Snapshot


@pytest.mark.parametrize(
    ("snapshot", "xid", "seen"),
    [
        ("10:20:14,15", 9, True),
        ("10:20:14,15", 10, True),
        ("10:20:14,15", 13, True),
        ("10:20:14,15", 14, False),
        ("10:20:14,15", 15, False),
        ("10:20:14,15", 19, True),
        ("10:20:14,15", 20, False),
        ("10:20:10", 10, False),
        ("1:1:", 1, False),
        ("1:1:", 0, True),
        ("4294967300:4294967302:4294967301", 4294967299, True),
        ("4294967300:4294967302:4294967301", 4294967301, False),
    ],
)
def test_a_snapshot_sees_what_had_committed(snapshot: str, xid: int, seen: bool) -> None:
    """Below xmin all is visible, from xmax on nothing, and between them what was not running."""
    assert Snapshot.parse(snapshot).sees(xid) is seen


@pytest.mark.parametrize(
    ("row_id", "xid", "settled"),
    [(5, 9, True), (500, 9, True), (100, 12, True), (101, 12, False), (50, 25, False), (50, 14, False), (50, 11, True)],
)
def test_a_stored_pass_settles_up_to_where_it_came(row_id: int, xid: int, settled: bool) -> None:
    """A row is settled when done sees it, or when the target sees it and the pass has gone beyond its id."""
    position = Position.of(Lane("orders", "event", 0, "10:10:", "10:20:14", 100))
    event = Event("orders", xid, row_id, "e", "order", "a", 1, 0, "event", "OrderPlaced", b"", "")

    assert position.settled(event) is settled


def test_a_text_that_is_no_snapshot_is_refused() -> None:
    """A broken position is an error, not an empty snapshot."""
    with pytest.raises(ValueError, match="unpack"):
        Snapshot.parse("12")
