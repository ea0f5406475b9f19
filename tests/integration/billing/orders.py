"""Events of orders as the consumer hands them over, and a reader of billing's tables."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, text

from services.billing import bill_orders
from shared import events
from shared.clock import utc_now
from shared.database import transaction
from shared.envelope import Envelope
from shared.events import OrderCancelled, OrderConfirmed, OrderLine, OrderPayload, OrderPlaced
from shared.inbox import DatabaseInbox, Delivery, Inbox

TABLES = ("bill", "payment", "number_series", "invoice", "credit_note", "outbox", "inbox")


class NoInbox:
    """Remembers nothing: what billing does without its guard."""

    def new(self, connection: Connection, batch: Sequence[Delivery]) -> list[Delivery]:
        return list(batch)


def placed(
    order_id: str | None = None,
    currency: str = "EUR",
    amount_minor: int = 500,
    customer_id: str = "c-1",
    **fields: Any,
) -> OrderPlaced:
    return OrderPlaced(
        order_id=order_id or str(uuid4()),
        customer_id=customer_id,
        email="ada@example.org",
        currency=currency,
        amount_minor=amount_minor,
        lines=(OrderLine(sku="tea", quantity=1, unit_price_minor=amount_minor),),
        placed_at="2026-01-01T00:00:00+00:00",
        **fields,
    )


def cancelled(order: OrderPlaced, reason: Any = "customer") -> OrderCancelled:
    return OrderCancelled(
        order_id=order.order_id, reason=reason, currency=order.currency, amount_minor=order.amount_minor
    )


def confirmed(order: OrderPlaced) -> OrderConfirmed:
    return OrderConfirmed(order_id=order.order_id, invoice_number="INV-2026-000001")


def deliver(*payloads: OrderPayload, traceparent: str | None = None) -> list[Delivery]:
    """Return the payloads as one partition's deliveries, in log order."""
    versions: dict[str, int] = {}
    batch = []
    for offset, payload in enumerate(payloads):
        version = versions[payload.order_id] = versions.get(payload.order_id, 0) + 1
        batch.append(Delivery(_envelope(payload, version, traceparent), "orders.events", 0, offset, "member", 1))
    return batch


def _envelope(payload: OrderPayload, version: int, traceparent: str | None) -> Envelope:
    kind = type(payload).__name__
    return Envelope(
        event_id=uuid4(),
        type=kind,
        source="/orders",
        aggregate_type="order",
        aggregate_id=payload.order_id,
        aggregate_version=version,
        dataschema=events.dataschema(kind),
        payload=events.encode(payload),
        occurred_at=utc_now(),
        traceparent=traceparent,
    )


def bill(engine: Engine, batch: Sequence[Delivery], inbox: Inbox | None = None) -> None:
    """Do with a batch what the consumer does: inbox and effect in one transaction."""
    with transaction(engine) as connection:
        fresh = (inbox or DatabaseInbox("billing")).new(connection, batch)
        if fresh:
            bill_orders.apply(connection, fresh)


def rows(engine: Engine, query: str, **parameters: Any) -> list[Any]:
    with engine.connect() as connection:
        return list(connection.execute(text(query), parameters))


def everything(engine: Engine) -> dict[str, list[Any]]:
    """Return every row of every table, to see whether anything changed."""
    return {table: sorted(map(str, rows(engine, f"SELECT * FROM {table}"))) for table in TABLES}


def without_uniques(engine: Engine) -> None:
    """Take out the second guards, so that only the inbox is left to be missed."""
    with engine.begin() as connection:
        for table, constraint in (
            ("bill", "bill_pkey"),
            ("invoice", "invoice_order_id_key"),
            ("credit_note", "credit_note_order_id_key"),
            ("outbox", "outbox_aggregate_type_aggregate_id_aggregate_version_key"),
        ):
            connection.execute(text(f"ALTER TABLE {table} DROP CONSTRAINT {constraint}"))


def migrate(connection: Connection, config: Config) -> None:
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
    connection.commit()


def ids(orders: Sequence[OrderPlaced]) -> list[UUID]:
    return [UUID(order.order_id) for order in orders]
