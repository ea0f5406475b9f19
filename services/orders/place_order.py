"""Place an order: the order, its event and its idempotency key in one transaction.

Invariant: an order and its OrderPlaced commit together or not at all, and a key of a customer has at most one order,
however many requests with it arrive at once and wherever the process dies. The statements stand in the order in which
they are sent: the aggregate's own row first, then its event, whose id is thereby drawn under the row's lock.

Not promised: that the client hears of it. It may die between commit and answer; its retry gets the same answer.
"""

import hashlib
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import Connection, Engine, Row
from uuid_utils.compat import uuid7

from services.orders import tables
from services.orders.errors import KeyReusedError
from services.orders.order_events import order_event
from services.orders.order_request import OrderRequest
from services.orders.order_states import PLACED
from shared import outbox
from shared.clock import utc_now
from shared.database import transaction
from shared.events import OrderPlaced
from shared.failpoints import Failpoint, reach


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a placed order. Of what never changes in an order, so that a replay is byte for byte the same."""

    order_id: str
    customer_id: str
    state: str
    currency: str
    amount_minor: int
    placed_at: str


@dataclass(frozen=True, slots=True)
class Placed:
    receipt: Receipt
    replayed: bool


def place_order(
    engine: Engine, request: OrderRequest, *, key: str, body: bytes, traceparent: str | None, wait_seconds: float
) -> Placed:
    """Place the order, or find the one that this key has placed before.

    ``body`` is the request as it was sent: its hash tells a retry from another order under the same key.
    Raises KeyReusedError for another body, KeyInFlightError when the first request does not end in ``wait_seconds``.
    """
    body_hash, order_id = hashlib.sha256(body).digest(), uuid7()
    with transaction(engine) as connection:
        tables.limit_waiting(connection, wait_seconds)
        if not tables.claim_key(connection, request.customer_id, key, body_hash, order_id):
            return _replay(connection, request.customer_id, key, body_hash)
        order = tables.insert_order(
            connection,
            order_id=order_id,
            customer_id=request.customer_id,
            email=request.email,
            currency=request.currency,
            amount_minor=request.amount_minor,
            lines=msgspec.to_builtins(request.lines),
            placed_at=utc_now(),
        )
        outbox.add(connection, _placed(order, request, traceparent))
    reach(Failpoint.ORDERS_AFTER_COMMIT_BEFORE_RESPONSE)
    return Placed(_receipt(order), replayed=False)


def _replay(connection: Connection, customer_id: str, key: str, body_hash: bytes) -> Placed:
    order = tables.order_of_key(connection, customer_id, key)
    if order.body_hash != body_hash:
        raise KeyReusedError(
            "This Idempotency-Key has placed an order from another body. A retry sends the same body, byte for byte; "
            "a new order takes a new key."
        )
    return Placed(_receipt(order), replayed=True)


def _receipt(order: Row[Any]) -> Receipt:
    return Receipt(
        order_id=str(order.order_id),
        customer_id=order.customer_id,
        state=PLACED.to,
        currency=order.currency,
        amount_minor=order.amount_minor,
        placed_at=tables.moment(order.placed_at),
    )


def _placed(order: Row[Any], request: OrderRequest, traceparent: str | None) -> outbox.Event:
    payload = OrderPlaced(
        order_id=str(order.order_id),
        customer_id=order.customer_id,
        email=order.email,
        currency=order.currency,
        amount_minor=order.amount_minor,
        lines=request.order_lines(),
        placed_at=tables.moment(order.placed_at),
    )
    return order_event(order, payload, traceparent)
