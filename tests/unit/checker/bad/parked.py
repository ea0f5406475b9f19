"""What was set aside: S22, S25."""

from __future__ import annotations

from chaos.specimens import History, lane_of
from tests.unit.checker.bad.bad import bad
from tests.unit.checker.bad.pick import OUTBOX, confirmed, placed_event


@bad("S22", "S25")
def _(h: History) -> None:
    """an event is parked at the relay and in the log"""
    event = h.rows[OUTBOX][0]
    h.rows["db/orders/outbox_parked"].append({"outbox_id": event["id"], "state": "parked", "last_error": "x"})


@bad("S22", "S25")
def _(h: History) -> None:
    """an event is parked at billing and invoiced"""
    event = placed_event(h, confirmed(h))
    h.rows["db/billing/inbox_parked"] = [{"consumer": "billing", "event_id": event["event_id"]}]


@bad("S22", "S19", "S25")
def _(h: History) -> None:
    """an event is parked at analytics, in its inbox, and counted"""
    event = h.the(OUTBOX, type="OrderConfirmed")
    h.rows["db/analytics/inbox_parked"] = [{"consumer": "analytics", "event_id": event["event_id"]}]


@bad("S25")
def _(h: History) -> None:
    """a message that nobody could read is parked by its place, and the scenario did not spoil it"""
    h.rows["db/analytics/inbox_parked"] = [
        {"consumer": "analytics", "event_id": None, "topic": "orders.events", "partition": 0, "offset": 77}
    ]


@bad("S25")
def _(h: History) -> None:
    """an innocent row is held at the relay"""
    event = dict(h.rows[OUTBOX][-1])
    assert lane_of(event["aggregate_id"]) == event["lane"]
    h.rows["db/orders/outbox_parked"].append({"outbox_id": 77_777, "state": "held", "last_error": "behind another"})
