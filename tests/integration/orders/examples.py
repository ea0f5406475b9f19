"""Orders as clients send them, billing's events as the consumer hands them over, and faults inside the database."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import Engine, text

from shared import events
from shared.clock import utc_now
from shared.envelope import Envelope
from shared.inbox import Delivery

Rows = Callable[[str], list[dict[str, Any]]]
Place = Callable[..., str]

WAITING = (
    "SELECT count(*) AS waiting FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
)
"""How many statements wait for a lock in this test's database."""


def order_body(**members: Any) -> bytes:
    order: dict[str, Any] = {
        "customer_id": "c-1",
        "email": "ada@example.org",
        "currency": "EUR",
        "lines": [{"sku": "tea", "quantity": 2, "unit_price_minor": 450}],
    }
    return json.dumps({**order, **members}).encode()


def order_headers(key: str | None = None, **headers: str) -> dict[str, str]:
    return {"Content-Type": "application/json", "Idempotency-Key": key or str(uuid4()), **headers}


def delivery(payload: events.OrderPayload, *, traceparent: str | None = None) -> Delivery:
    """Return an event of billing as the consumer hands it over."""
    envelope = Envelope(
        event_id=uuid4(),
        type=type(payload).__name__,
        source="/billing",
        aggregate_type="bill",
        aggregate_id=payload.order_id,
        aggregate_version=1,
        dataschema=events.dataschema(type(payload).__name__),
        payload=events.encode(payload),
        occurred_at=utc_now(),
        traceparent=traceparent,
    )
    return Delivery(envelope, "billing.events", 0, 0, "member", 1)


def invoice_issued(order_id: str | UUID, number: str = "INV-2026-000001") -> Delivery:
    return delivery(
        events.InvoiceIssued(
            order_id=str(order_id),
            invoice_number=number,
            customer_id="c-1",
            email="ada@example.org",
            currency="EUR",
            amount_minor=900,
            issued_at="2026-01-01T00:00:00Z",
        )
    )


def payment_declined(order_id: str | UUID) -> Delivery:
    return delivery(
        events.PaymentDeclined(
            order_id=str(order_id), code="amount_above_limit", detail="", currency="EUR", amount_minor=900
        )
    )


@contextmanager
def trigger(engine: Engine, table: str, body: str) -> Iterator[None]:
    """Have the database itself fail, or wait, whenever a row is inserted into a table."""
    with engine.begin() as connection:
        connection.execute(text(f"CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN {body} END$$"))
        connection.execute(text(f"CREATE TRIGGER fault BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION fault()"))
    try:
        yield
    finally:
        with engine.begin() as connection:
            connection.execute(text("DROP FUNCTION fault CASCADE"))
