"""Cancel an order for its customer, as long as it is neither declined nor cancelled.

Invariant: the order's row is locked and moved on by one version in one statement, and only then is its event written.
A cancellation and billing's answer that meet therefore come one after the other, in the log as in the table.

Not promised: that no invoice exists. Billing answers the OrderCancelled of an invoiced order with a credit note.
"""

from typing import Any
from uuid import UUID

from sqlalchemy import Engine, Row

from services.orders import tables
from services.orders.errors import NotCancellableError, UnknownOrderError
from services.orders.order_events import order_event
from shared import outbox
from shared.database import transaction
from shared.events import OrderCancelled


def cancel_order(engine: Engine, order_id: UUID, *, traceparent: str | None, wait_seconds: float) -> Row[Any]:
    """Return the cancelled order. Raises UnknownOrderError, or NotCancellableError with the state that it has."""
    with transaction(engine) as connection:
        tables.limit_waiting(connection, wait_seconds)
        order = tables.cancel_if_open(connection, order_id)
        if order is None:
            found = tables.find_order(connection, order_id)
            raise NotCancellableError(found.state) if found else UnknownOrderError(f"There is no order {order_id}.")
        outbox.add(connection, _cancelled(order, traceparent))
    return order


def _cancelled(order: Row[Any], traceparent: str | None) -> outbox.Event:
    payload = OrderCancelled(
        order_id=str(order.order_id), reason="customer", currency=order.currency, amount_minor=order.amount_minor
    )
    return order_event(order, payload, traceparent)
