"""Place and cancel orders.

Invariant: what happens to an order and the event that tells of it are in one transaction, the order's row first. The
caller owns the transaction; nothing here commits.
"""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    DateTime,
    Integer,
    LargeBinary,
    MetaData,
    Row,
    Table,
    Text,
    Uuid,
    func,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection
from uuid_utils.compat import uuid7

from shared import outbox
from shared.events import OrderCancelled, OrderLine, OrderPlaced, Payload

# The tables that are there already.
metadata = MetaData()
orders = Table(
    "orders",
    metadata,
    Column("order_id", Uuid, primary_key=True),
    Column("customer_id", Text),
    Column("email", Text),
    Column("currency", Text),
    Column("amount_minor", BigInteger),
    Column("lines", JSON),
    Column("state", Text),
    Column("version", Integer),
    Column("invoice_number", Text),
    Column("placed_at", DateTime(timezone=True)),
    Column("updated_at", DateTime(timezone=True)),
)
keys = Table(
    "idempotency_key",
    metadata,
    Column("customer_id", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("body_hash", LargeBinary),
    Column("order_id", Uuid),
)


class Refused(Exception):
    """The key belongs to another body, or the order is not to be cancelled any more."""


@dataclass(frozen=True, slots=True)
class Placed:
    order: Row[Any]
    replayed: bool


async def place(connection: AsyncConnection, asked: dict[str, Any], key: str, body: bytes) -> Placed:
    """Return the order of this key, and whether it was there before. Raises Refused for another body."""
    order_id, body_hash = uuid7(), hashlib.sha256(body).digest()
    row = {"customer_id": asked["customer_id"], "key": key, "body_hash": body_hash, "order_id": order_id}
    # This statement decides, never a look before it: whoever comes second waits here for the first.
    claim = insert(keys).values(row).on_conflict_do_nothing().returning(keys.c.order_id)
    if (await connection.execute(claim)).one_or_none() is None:
        return Placed(await _placed_before(connection, row), replayed=True)
    values = {"order_id": order_id, "state": "placed", "version": 1, "placed_at": datetime.now(UTC), **asked}
    order = (await connection.execute(insert(orders).values(values).returning(orders))).one()
    payload = OrderPlaced(
        order_id=str(order_id),
        customer_id=order.customer_id,
        email=order.email,
        currency=order.currency,
        amount_minor=order.amount_minor,
        lines=tuple(OrderLine(**line) for line in order.lines),
        placed_at=order.placed_at.isoformat().replace("+00:00", "Z"),
    )
    await _tell(connection, order, payload)
    return Placed(order, replayed=False)


async def cancel(connection: AsyncConnection, order_id: UUID) -> Row[Any] | None:
    """Return the cancelled order, or None when there is none. Raises Refused where nothing is left to cancel."""
    changed = {"state": "cancelled", "version": orders.c.version + 1, "updated_at": func.clock_timestamp()}
    is_open = orders.c.state.in_(("placed", "confirmed"))
    moved = await connection.execute(
        update(orders).where(orders.c.order_id == order_id, is_open).values(changed).returning(orders)
    )
    order = moved.one_or_none()
    if order is None:
        found = await find(connection, order_id)
        if found is not None:
            raise Refused(f"The order is {found.state}, so there is nothing left to cancel.")
        return None
    payload = OrderCancelled(
        order_id=str(order_id), reason="customer", currency=order.currency, amount_minor=order.amount_minor
    )
    await _tell(connection, order, payload)
    return order


async def find(connection: AsyncConnection, order_id: UUID) -> Row[Any] | None:
    return (await connection.execute(select(orders).where(orders.c.order_id == order_id))).one_or_none()


async def _tell(connection: AsyncConnection, order: Row[Any], payload: Payload) -> None:
    """Write the event of the order's present version, behind the row's lock and in its transaction."""
    event = outbox.new_event("order", str(order.order_id), order.version, payload, source="/orders")
    await connection.exec_driver_sql(*outbox.statement(event))


async def _placed_before(connection: AsyncConnection, row: dict[str, Any]) -> Row[Any]:
    mine = (keys.c.customer_id == row["customer_id"], keys.c.key == row["key"])
    known = (await connection.execute(select(keys).where(*mine))).one()
    if known.body_hash != row["body_hash"]:
        raise Refused("This Idempotency-Key has placed an order from another body.")
    order = await find(connection, known.order_id)
    assert order is not None  # its key commits with it
    return order
