"""Show an order as it stands now. The e-mail address is not given back: who knows an order's id need not know it."""

from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import Engine, Row

from services.orders import tables
from services.orders.errors import UnknownOrderError
from shared.database import transaction
from shared.events import OrderLine


class OrderView(msgspec.Struct, frozen=True, kw_only=True):
    order_id: str
    customer_id: str
    state: str
    version: int
    currency: str
    amount_minor: int
    lines: tuple[OrderLine, ...]
    invoice_number: str | None
    placed_at: str
    updated_at: str


def show_order(engine: Engine, order_id: UUID) -> OrderView:
    """Return the order. Raises UnknownOrderError."""
    with transaction(engine) as connection:
        order = tables.find_order(connection, order_id)
    if order is None:
        raise UnknownOrderError(f"There is no order {order_id}. Ask for the order_id that POST /orders answered.")
    return view(order)


def view(order: Row[Any]) -> OrderView:
    return OrderView(
        order_id=str(order.order_id),
        customer_id=order.customer_id,
        state=order.state,
        version=order.version,
        currency=order.currency,
        amount_minor=order.amount_minor,
        lines=msgspec.convert(order.lines, tuple[OrderLine, ...]),
        invoice_number=order.invoice_number,
        placed_at=tables.moment(order.placed_at),
        updated_at=tables.moment(order.updated_at),
    )
