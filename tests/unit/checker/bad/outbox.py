"""Orders without their events, and events that never reached the log: S04, S05, L01."""

from __future__ import annotations

from chaos.specimens import History
from tests.unit.checker.bad.bad import bad
from tests.unit.checker.bad.pick import OUTBOX, confirmed, placed_event


@bad("S04", "S06")
def _(h: History) -> None:
    """an order has no event in the outbox"""
    h.drop(OUTBOX, event_id=placed_event(h, confirmed(h))["event_id"])


@bad("S04")
def _(h: History) -> None:
    """an order changed its state without an event"""
    confirmed(h)["version"] += 1


@bad("S04", "L01", "S05", "S08")
def _(h: History) -> None:
    """the outbox has an event of an order that was rolled back"""
    event = dict(placed_event(h, confirmed(h)), event_id=h.new_id(), aggregate_id=h.new_id(), id=9_000, xid="999999")
    h.rows[OUTBOX].append(event)


@bad("S05", "L01", "S19")
def _(h: History) -> None:
    """a settled event is not in the log"""
    event = h.the(OUTBOX, type="OrderConfirmed", aggregate_id=confirmed(h)["order_id"])
    h.unpublish(event["event_id"])
    _uncount(h, "confirmed", "placed")


@bad("S05", "L01", "S19")
def _(h: History) -> None:
    """an event that the stored pass has gone beyond is not in the log"""
    event = h.the(OUTBOX, type="OrderConfirmed", aggregate_id=confirmed(h)["order_id"])
    h.unpublish(event["event_id"])
    _uncount(h, "confirmed", "placed")
    xid = int(event["xid"])
    for row in h.all("db/orders/relay_position", destination="event"):
        row.update(done=f"{xid}:{xid}:", target=f"{xid + 1}:{xid + 1}:", after_id=event["id"])


@bad("L01", "S19")
def _(h: History) -> None:
    """an event is not in the log because the relay skipped the transaction that was still running"""
    event = h.the(OUTBOX, type="OrderConfirmed", aggregate_id=confirmed(h)["order_id"])
    h.unpublish(event["event_id"])
    _uncount(h, "confirmed", "placed")
    xid = int(event["xid"])
    for row in h.all("db/orders/relay_position", destination="event"):
        row["done"] = f"{xid}:{xid + 1000}:{xid}"


def _uncount(h: History, state: str, instead: str) -> None:
    """Let the read model count an order where the shortened log puts it."""
    h.finish()
    rows = h.rows["db/analytics/orders_by_state"]
    h.the("db/analytics/orders_by_state", state=state)["orders"] -= 1
    rows.append({"state": instead, "orders": 1})
