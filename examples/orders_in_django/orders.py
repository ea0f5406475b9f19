"""Place and cancel orders.

Invariant: what happens to an order and the event that tells of it are in one ``atomic`` block, the order's row first.
"""

import hashlib
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone
from uuid_utils.compat import uuid7

from examples.orders_in_django.models import Order
from shared import outbox
from shared.events import OrderCancelled, OrderLine, OrderPlaced, Payload

CLAIM = """
INSERT INTO idempotency_key (customer_id, key, body_hash, order_id) VALUES (%s, %s, %s, %s)
ON CONFLICT (customer_id, key) DO NOTHING
"""
WHOSE = "SELECT order_id, body_hash FROM idempotency_key WHERE customer_id = %s AND key = %s"
OPEN = ("placed", "confirmed")


class KeyReused(Exception):
    """The key belongs to another body."""


class NotCancellable(Exception):
    """The order is declined or cancelled already."""


@transaction.atomic
def place(asked: dict[str, Any], key: str, body: bytes) -> tuple[Order, bool]:
    """Return the order of this key, and whether it was there before. Raises KeyReused."""
    order_id, body_hash = uuid7(), hashlib.sha256(body).digest()
    with connection.cursor() as cursor:
        # This statement decides, never a look before it: whoever comes second waits here for the first.
        cursor.execute(CLAIM, [asked["customer_id"], key, body_hash, order_id])
        if not cursor.rowcount:
            return _placed_before(asked["customer_id"], key, body_hash), True
    order = Order.objects.create(order_id=order_id, state="placed", version=1, **asked)
    _tell(
        order,
        OrderPlaced(
            order_id=str(order_id),
            customer_id=order.customer_id,
            email=order.email,
            currency=order.currency,
            amount_minor=order.amount_minor,
            lines=tuple(OrderLine(**line) for line in order.lines),
            placed_at=order.placed_at.isoformat().replace("+00:00", "Z"),
        ),
    )
    return order, False


@transaction.atomic
def cancel(order_id: UUID) -> Order:
    """Return the cancelled order. Raises Order.DoesNotExist, or NotCancellable."""
    order = Order.objects.select_for_update().get(order_id=order_id)
    if order.state not in OPEN:
        raise NotCancellable(f"The order is {order.state}, so there is nothing left to cancel.")
    order.state, order.version, order.updated_at = "cancelled", order.version + 1, timezone.now()
    order.save(update_fields=["state", "version", "updated_at"])
    _tell(
        order,
        OrderCancelled(
            order_id=str(order_id), reason="customer", currency=order.currency, amount_minor=order.amount_minor
        ),
    )
    return order


def _tell(order: Order, payload: Payload) -> None:
    """Write the event of the order's present version, behind the row's lock and in its transaction."""
    event = outbox.new_event("order", str(order.order_id), order.version, payload, source="/orders")
    with connection.cursor() as cursor:
        cursor.execute(*outbox.statement(event))


def _placed_before(customer_id: str, key: str, body_hash: bytes) -> Order:
    with connection.cursor() as cursor:
        cursor.execute(WHOSE, [customer_id, key])
        order_id, found_hash = cursor.fetchone()
    if bytes(found_hash) != body_hash:
        raise KeyReused("This Idempotency-Key has placed an order from another body.")
    return Order.objects.get(order_id=order_id)
