"""Copies in the log: strangers, altered ones, and those in the wrong place: S06-S09."""

from __future__ import annotations

from chaos.specimens import History, Row
from tests.unit.checker.bad.bad import bad
from tests.unit.checker.bad.pick import OUTBOX, burst, confirmed, placed_event, swap


@bad("S06")
def _(h: History) -> None:
    """the log has an event that no outbox has"""
    event = h.the(OUTBOX, type="OrderConfirmed", aggregate_id=confirmed(h)["order_id"])
    h.publish({**event, "event_id": h.new_id(), "aggregate_version": 3})


@bad("S07")
def _(h: History) -> None:
    """one copy of an event has another payload"""
    event = h.rows[OUTBOX][0]
    h.publish({**event, "payload": event["payload"].replace("1999", "1998")})


@bad("S07")
def _(h: History) -> None:
    """one copy of an event has the bytes that the archiver did not sum"""
    h.rows["log"][-1]["sha256"] = "ab" * 32


@bad("S07")
def _(h: History) -> None:
    """one copy of an event has another type"""
    h.publish({**h.rows[OUTBOX][0], "type": "OrderConfirmed"})


@bad("S07")
def _(h: History) -> None:
    """all copies of an event differ from the outbox by one blank"""
    placed_event(h, confirmed(h))["payload"] += " "


@bad("S08")
def _(h: History) -> None:
    """a copy of an event is in a second partition"""
    event = h.rows[OUTBOX][0]
    home = h.the("log", event_id=event["event_id"])["partition"]
    h.publish(event, partition=(home + 1) % 4)


@bad("S09", "S10", "S07")
def _(h: History) -> None:
    """two versions of one order stand in the log the wrong way round"""
    order_id = burst(h)
    first, second = list(h.all("log", aggregate_id=order_id, aggregate_type="order"))[:2]
    swap(first, second, "topic", "partition", "offset")
    _follow_the_log(h)


def _follow_the_log(h: History) -> None:
    """Move inbox rows to where the first copy of their event stands now."""
    first: dict[str, Row] = {}
    for copy in sorted(h.rows["log"], key=lambda c: (c["topic"], c["partition"], c["offset"])):
        first.setdefault(copy["event_id"], copy)
    for database in ("orders", "billing", "analytics"):
        for row in h.rows[f"db/{database}/inbox"]:
            row["offset"] = first[row["event_id"]]["offset"]
