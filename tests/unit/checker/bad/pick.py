"""Rows of a good history to spoil, and what is done to them more than once."""

from __future__ import annotations

from chaos.specimens import History, Row

ORDERS, OUTBOX, INVOICES = "db/orders/orders", "db/orders/outbox", "db/billing/invoice"
BILLING_OUTBOX, INBOX, KEYS = "db/billing/outbox", "db/billing/inbox", "db/orders/idempotency_key"


def confirmed(h: History) -> Row:
    """Return a confirmed order that no fault struck."""
    return list(h.all(ORDERS, state="confirmed"))[1]


def cancelled(h: History) -> Row:
    return h.the(ORDERS, state="cancelled", order_id=h.rows["db/billing/credit_note"][0]["order_id"])


def invoice_of(h: History, order: Row) -> Row:
    return h.the(INVOICES, order_id=order["order_id"])


def placed_event(h: History, order: Row) -> Row:
    return h.the(OUTBOX, aggregate_id=order["order_id"], type="OrderPlaced")


def burst(h: History) -> str:
    """Return an order that was cancelled before billing answered."""
    return str(next(e for e in h.all(OUTBOX, aggregate_version=2, type="OrderCancelled")
                    if '"customer"' in e["payload"])["aggregate_id"])  # fmt: skip


def swap(one: Row, other: Row, *names: str) -> None:
    for name in names:
        one[name], other[name] = other[name], one[name]
