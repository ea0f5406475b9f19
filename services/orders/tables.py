"""The tables of orders, and every statement on them. All write through the caller's connection and never commit."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.errors import LockNotAvailable
from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Connection,
    DateTime,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    Row,
    Table,
    Text,
    Uuid,
    bindparam,
    func,
    select,
    text,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, insert
from sqlalchemy.exc import OperationalError

from services.orders.errors import KeyInFlightError
from services.orders.order_states import CANCEL, ORDER, PLACED
from shared.cdc import cdc_tables
from shared.inbox import inbox_table
from shared.inbox_parking import begun_table, inbox_parking_tables
from shared.outbox_tables import outbox_table, relay_tables
from shared.retention import retention_table

metadata = MetaData()

orders = Table(
    "orders",
    metadata,
    Column("order_id", Uuid, primary_key=True),
    Column("customer_id", Text, nullable=False),
    Column("email", Text, nullable=False),
    Column("currency", Text, nullable=False),
    Column("amount_minor", BigInteger, CheckConstraint("amount_minor > 0"), nullable=False),
    Column("lines", JSONB, nullable=False),
    Column(
        "state",
        Text,
        CheckConstraint(f"state IN {ORDER.states}"),
        nullable=False,
    ),
    Column("version", Integer, CheckConstraint("version >= 1"), nullable=False),
    Column("invoice_number", Text),
    Column("placed_at", DateTime(timezone=True), nullable=False),
    Column("updated_at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
)

idempotency_key = Table(
    "idempotency_key",
    metadata,
    Column("customer_id", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("body_hash", LargeBinary, nullable=False),
    # Checked at commit: the key is claimed before the order is written.
    Column("order_id", ForeignKey(orders.c.order_id, deferrable=True, initially="DEFERRED"), nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
)

outbox_table(metadata)
relay_tables(metadata)
cdc_tables(metadata)
inbox_table(metadata)
inbox_parking_tables(metadata)
begun_table(metadata)
retention_table(metadata)


def limit_waiting(connection: Connection, seconds: float) -> None:
    """Have every later statement of this transaction wait at most so long for a lock."""
    connection.execute(select(func.set_config("lock_timeout", f"{int(seconds * 1000)}ms", True)))


def claim_key(connection: Connection, customer_id: str, key: str, body_hash: bytes, order_id: UUID) -> bool:
    """Make the key this order's, or return False when it is another's already.

    The unique index decides, in one statement: a look before it would be a race. Behind an uncommitted claim the
    statement waits for that transaction's end. Raises KeyInFlightError when that takes longer than the limit.
    """
    statement = (
        insert(idempotency_key)
        .values(customer_id=customer_id, key=key, body_hash=body_hash, order_id=order_id)
        .on_conflict_do_nothing(index_elements=["customer_id", "key"])
        .returning(idempotency_key.c.order_id)
    )
    try:
        return connection.execute(statement).one_or_none() is not None
    except OperationalError as error:
        if isinstance(error.orig, LockNotAvailable):
            raise KeyInFlightError(
                "Another request with this Idempotency-Key is still being worked on. Send this one again in a second."
            ) from None
        raise


def order_of_key(connection: Connection, customer_id: str, key: str) -> Row[Any]:
    """Return the order that has the key, with the hash of the body that it was made from."""
    return connection.execute(
        select(orders, idempotency_key.c.body_hash)
        .join_from(idempotency_key, orders)
        .where(idempotency_key.c.customer_id == customer_id, idempotency_key.c.key == key)
    ).one()


def insert_order(connection: Connection, **values: Any) -> Row[Any]:
    return connection.execute(insert(orders).values(state=PLACED.to, version=1, **values).returning(orders)).one()


def find_order(connection: Connection, order_id: UUID) -> Row[Any] | None:
    return connection.execute(select(orders).where(orders.c.order_id == order_id)).one_or_none()


def cancel_if_open(connection: Connection, order_id: UUID) -> Row[Any] | None:
    """Lock the order and cancel it, or return None when it is not there or where no cancellation leads on."""
    return connection.execute(
        update(orders)
        .where(orders.c.order_id == order_id, orders.c.state.in_(ORDER.moved_by(CANCEL)))
        .values(state=ORDER.target(CANCEL), version=orders.c.version + 1, updated_at=func.clock_timestamp())
        .returning(orders)
    ).one_or_none()


def lock_orders(connection: Connection, order_ids: Sequence[UUID]) -> dict[UUID, Row[Any]]:
    """Lock the orders, always in the order of their ids, so that two batches wait for each other, not deadlock."""
    rows = connection.execute(
        select(orders)
        .where(orders.c.order_id == func.any(bindparam("ids", list(order_ids), ARRAY(Uuid))))
        .order_by(orders.c.order_id)
        .with_for_update()
    )
    return {row.order_id: row for row in rows}


_SETTLE = text("""
UPDATE orders
SET state = settled.state, version = orders.version + 1, invoice_number = settled.invoice_number,
    updated_at = clock_timestamp()
FROM unnest(:order_ids, :states, :invoice_numbers) AS settled (order_id, state, invoice_number)
WHERE orders.order_id = settled.order_id
RETURNING orders.order_id, orders.version, orders.currency, orders.amount_minor
""").bindparams(
    bindparam("order_ids", type_=ARRAY(Uuid)),
    bindparam("states", type_=ARRAY(Text)),
    bindparam("invoice_numbers", type_=ARRAY(Text)),
)


def settle(connection: Connection, outcomes: Sequence[tuple[UUID, str, str | None]]) -> dict[UUID, Row[Any]]:
    """Give locked orders their state and invoice number, a version further, and return them as they are then."""
    order_ids, states, invoice_numbers = zip(*outcomes, strict=True)
    rows = connection.execute(
        _SETTLE,
        {"order_ids": list(order_ids), "states": list(states), "invoice_numbers": list(invoice_numbers)},
    )
    return {row.order_id: row for row in rows}


def probe(connection: Connection) -> None:
    """Ask for nothing from the table that everything here needs; fails while the schema is not there."""
    connection.execute(select(orders.c.order_id).limit(0))


def moment(value: datetime) -> str:
    """Write a time as payloads and answers have it: RFC 3339 in UTC."""
    return value.isoformat().replace("+00:00", "Z")
