"""Who held what is read from the log lines of those who held it."""

from __future__ import annotations

import json
from typing import Any

from chaos.owners import read_log


def line(event: str, **fields: Any) -> bytes:
    return json.dumps({"event": event, "at": "2026-03-01T12:00:00Z", "instance": "i-1", **fields}).encode()


def lanes(*numbers: int) -> bytes:
    return line("lanes changed", relay="relay-orders-1", destination="event", lanes=list(numbers))


def partitions(what: str, *numbers: int) -> bytes:
    places = [f"r-1.orders.events[{number}]" for number in numbers]
    return line(f"partitions {what}", group="r-1.billing", partitions=places)


def told(*lines: bytes) -> list[tuple[str, str, str]]:
    return [(mark.of, mark.unit, mark.what.value) for mark in read_log(lines, "r-1")]


def test_a_relay_names_all_its_lanes_and_the_others_are_dropped() -> None:
    """What is no longer named was given up; what is named again is taken again, as after a restart."""
    assert told(lanes(0, 1), lanes(1)) == [
        ("orders: events", "lane 0", "taken"),
        ("orders: events", "lane 1", "taken"),
        ("orders: events", "lane 0", "dropped"),
        ("orders: events", "lane 1", "taken"),
    ]


def test_a_member_names_what_changes() -> None:
    """Assignments add, revocations and losses take away; names are plain."""
    assert told(partitions("assigned", 0, 1), partitions("revoked", 0), partitions("lost", 1)) == [
        ("billing", "orders.events/0", "taken"),
        ("billing", "orders.events/1", "taken"),
        ("billing", "orders.events/0", "dropped"),
        ("billing", "orders.events/1", "dropped"),
    ]


def test_other_lines_say_nothing() -> None:
    """Only the lines about owners are read, whatever else stands in a log."""
    assert told(b"no json", line("batch applied")) == []
