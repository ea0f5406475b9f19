"""Choose something to spoil in a good history, wherever the dice have put it."""

from __future__ import annotations

from datetime import datetime, timedelta

from chaos.specimens import Row, Varied

ORDERS, KEYS, INTENTS, LOG, MAIL = "db/orders/orders", "db/orders/idempotency_key", "intents", "log", "mail"
OUTBOX, BILLING_OUTBOX = "db/orders/outbox", "db/billing/outbox"
INVOICES, NOTES, BILLS, PAYMENTS = (f"db/billing/{t}" for t in ("invoice", "credit_note", "bill", "payment"))
REVENUE, STATES = "db/analytics/revenue", "db/analytics/orders_by_state"
DAYS, SKUS = "db/analytics/orders_by_day", "db/analytics/ordered_skus"
INBOX_OF = {"billing": "db/billing/inbox", "orders": "db/orders/inbox", "analytics": "db/analytics/inbox"}


def some(h: Varied, rows: list[Row]) -> Row:
    return h.dice.choice(rows)


def order_of(h: Varied, *shapes: str) -> str:
    """Return an order of one of these shapes to which nothing unusual happened."""
    return h.dice.choice([order_id for shape in shapes for order_id in h.plain[shape]])


def row_of(h: Varied, order_id: str) -> Row:
    return h.the(ORDERS, order_id=order_id)


def invoiced(h: Varied) -> str:
    return order_of(h, "invoiced")


def credited(h: Varied) -> str:
    return order_of(h, "cancelled", "cancelled_early")


def declined(h: Varied) -> str:
    return order_of(h, "declined")


def any_order(h: Varied) -> str:
    return order_of(h, "invoiced", "declined", "cancelled", "cancelled_early", "cancelled_declined")


def event_of(h: Varied, order_id: str, kind: str = "OrderPlaced") -> Row:
    return h.the(OUTBOX if kind.startswith("Order") else BILLING_OUTBOX, aggregate_id=order_id, type=kind)


def first_copy(h: Varied, event: Row) -> Row:
    return h.the(LOG, event_id=event["event_id"])


def swap(one: Row, other: Row, *names: str) -> None:
    for name in names:
        one[name], other[name] = other[name], one[name]


def burst_orders(h: Varied) -> list[str]:
    """Return the orders whose second event was written before a first one stood in the log; `null` is never."""
    stands: dict[str, str] = {}
    for copy in h.rows[LOG]:
        stands.setdefault(copy["event_id"], copy["timestamp"] or "never")
    return [
        order_id
        for order_id in {row["aggregate_id"]: None for row in h.rows[OUTBOX]}
        for events in [sorted(h.all(OUTBOX, aggregate_id=order_id), key=lambda event: event["aggregate_version"])]
        if len(events) > 1 and events[1]["occurred_at"] <= stands.get(events[0]["event_id"], "never")
    ]


def set_times(h: Varied, moment: str, *phases: str) -> None:
    """Let every fault have these phases at this moment."""
    for mark in h.rows["faults"]:
        if mark["phase"] in phases:
            mark["at"] = moment


def later(moment: str, seconds: float) -> str:
    return (datetime.fromisoformat(moment) + timedelta(seconds=seconds)).isoformat(timespec="microseconds")


def first_invoice(h: Varied) -> tuple[str, str]:
    """Return when the first order that was invoiced was placed, and when its invoice was there."""
    began = {event["event_id"]: event["occurred_at"] for event in h.rows[OUTBOX]}
    return min((began[invoice["event_id"]], invoice["applied_at"]) for invoice in h.rows[INVOICES])


def came(h: Varied, row: Row) -> str:
    """Return when the event of an inbox row first came into the log."""
    return str(h.the(LOG, event_id=row["event_id"])["timestamp"])
