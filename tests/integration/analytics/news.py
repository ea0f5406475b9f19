"""Events of orders and billing as the consumer hands them over, and a reader of the read model."""

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, Engine, text

from services.analytics import count_orders
from shared import events
from shared.clock import utc_now
from shared.database import transaction
from shared.envelope import Envelope
from shared.events import (
    CreditNoteIssued,
    InvoiceIssued,
    OrderCancelled,
    OrderConfirmed,
    OrderLine,
    OrderPayload,
    OrderPlaced,
    PaymentDeclined,
)
from shared.inbox import DatabaseInbox, Delivery, Inbox

VERSIONS = {"OrderPlaced": 1, "OrderConfirmed": 2, "InvoiceIssued": 1, "PaymentDeclined": 1, "CreditNoteIssued": 2}


class NoInbox:
    """Remembers nothing: what analytics does without its guard."""

    def new(self, connection: Connection, batch: Sequence[Delivery]) -> list[Delivery]:
        return list(batch)


def placed(
    order_id: str, currency: str = "EUR", amount_minor: int = 500, *lines: OrderLine, at: str = "2026-01-01"
) -> OrderPlaced:
    return OrderPlaced(
        order_id=order_id,
        customer_id="c-1",
        email="ada@example.org",
        currency=currency,
        amount_minor=amount_minor,
        lines=lines,
        placed_at=f"{at}T00:00:00+00:00",
    )


def confirmed(order_id: str) -> OrderConfirmed:
    return OrderConfirmed(order_id=order_id, invoice_number="INV-2026-000001")


def cancelled(order_id: str, reason: Any = "customer") -> OrderCancelled:
    return OrderCancelled(order_id=order_id, reason=reason, currency="EUR", amount_minor=500)


def invoiced(order_id: str, currency: str = "EUR", amount_minor: int = 500, at: str = "2026-01-31") -> InvoiceIssued:
    return InvoiceIssued(
        order_id=order_id,
        invoice_number="INV-2026-000001",
        customer_id="c-1",
        email="ada@example.org",
        currency=currency,
        amount_minor=amount_minor,
        issued_at=at if "T" in at else f"{at}T12:00:00+00:00",
    )


def credited(order_id: str, currency: str = "EUR", amount_minor: int = 500, at: str = "2026-01-31") -> CreditNoteIssued:
    return CreditNoteIssued(
        order_id=order_id,
        credit_note_number="CRN-2026-000001",
        invoice_number="INV-2026-000001",
        currency=currency,
        amount_minor=amount_minor,
        issued_at=f"{at}T12:00:00+00:00",
    )


def declined(order_id: str) -> PaymentDeclined:
    return PaymentDeclined(order_id=order_id, code="amount_above_limit", detail="", currency="EUR", amount_minor=500)


def deliver(*payloads: OrderPayload, cancelled_version: int = 3) -> list[Delivery]:
    """Return payloads as deliveries, each from the topic that its type belongs to."""
    return [_delivery(offset, payload, cancelled_version) for offset, payload in enumerate(payloads)]


def _delivery(offset: int, payload: OrderPayload, cancelled_version: int) -> Delivery:
    kind = type(payload).__name__
    source = "billing" if isinstance(payload, InvoiceIssued | CreditNoteIssued | PaymentDeclined) else "orders"
    envelope = Envelope(
        event_id=uuid4(),
        type=kind,
        source=f"/{source}",
        aggregate_type="bill" if source == "billing" else "order",
        aggregate_id=payload.order_id,
        aggregate_version=VERSIONS.get(kind, cancelled_version),
        dataschema=events.dataschema(kind),
        payload=events.encode(payload),
        occurred_at=utc_now(),
    )
    return Delivery(envelope, f"{source}.events", 0, offset, "member", 1)


def count(engine: Engine, batch: Sequence[Delivery], inbox: Inbox | None = None) -> None:
    """Do with a batch what the consumer does: inbox and effect in one transaction."""
    with transaction(engine) as connection:
        fresh = (inbox or DatabaseInbox("analytics")).new(connection, batch)
        if fresh:
            count_orders.apply(connection, fresh)


def rows(engine: Engine, query: str) -> list[Any]:
    with engine.connect() as connection:
        return list(connection.execute(text(query)))


def revenue(engine: Engine) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Return (invoices, invoiced, credited) by day and currency."""
    found = rows(engine, "SELECT day::text, currency, invoices, amount_minor, credited_minor FROM revenue")
    return {(row[0], row[1]): tuple(row[2:]) for row in found}


def states(engine: Engine) -> dict[str, int]:
    return {row.state: row.orders for row in rows(engine, "SELECT * FROM orders_by_state") if row.orders}


def days(engine: Engine) -> dict[tuple[str, str, str], int]:
    """Return numbers of orders by day, currency and state."""
    found = rows(engine, "SELECT day::text, currency, state, orders FROM orders_by_day WHERE orders <> 0")
    return {tuple(row[:3]): row.orders for row in found}
