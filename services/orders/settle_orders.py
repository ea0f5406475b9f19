"""Settle orders by what billing says: the handler of billing's events.

    InvoiceIssued     placed → confirmed, tells OrderConfirmed
    PaymentDeclined   placed → declined,  tells OrderCancelled
    CreditNoteIssued  nothing: the order is cancelled already

An order that its customer has cancelled meanwhile stays cancelled; billing has heard of that by its own event.

Invariant: state, version and the event that tells of it are written in the caller's transaction, with the inbox rows,
behind the locks of all orders of the batch. Never commits. Three statements a batch, however large it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row

from services.orders import tables
from services.orders.order_events import order_event
from shared import outbox
from shared.errors import PermanentError
from shared.events import InvoiceIssued, OrderCancelled, OrderConfirmed, Payload, PaymentDeclined
from shared.inbox import Delivery


def settle_orders(connection: Connection, deliveries: Sequence[Delivery]) -> None:
    """Apply new deliveries. Raises PermanentError for an event about an order that this database does not have."""
    verdicts = _verdicts(deliveries)
    locked = tables.lock_orders(connection, list(verdicts))
    if strangers := verdicts.keys() - locked.keys():
        raise PermanentError(f"billing has spoken about order {min(strangers)}, which is not in this database")
    open_orders = [order_id for order_id in verdicts if locked[order_id].state == "placed"]
    if open_orders:
        settled = tables.settle(
            connection, [_outcome(order_id, verdicts[order_id].payload) for order_id in open_orders]
        )
        outbox.add(connection, *(_event(settled[order_id], verdicts[order_id]) for order_id in open_orders))


@dataclass(frozen=True, slots=True)
class Verdict:
    payload: InvoiceIssued | PaymentDeclined
    traceparent: str | None


def _verdicts(deliveries: Sequence[Delivery]) -> dict[UUID, Verdict]:
    """Return each order's verdict, in the order of delivery. The first counts: it leaves the order placed no more."""
    verdicts: dict[UUID, Verdict] = {}
    for delivery in deliveries:
        payload = delivery.payload
        if isinstance(payload, InvoiceIssued | PaymentDeclined):
            verdicts.setdefault(_order_id(payload), Verdict(payload, delivery.envelope.traceparent))
    return verdicts


def _order_id(payload: Payload) -> UUID:
    try:
        return UUID(payload.order_id)
    except ValueError:
        raise PermanentError(f"{payload.order_id!r} is not the id of an order") from None


def _outcome(order_id: UUID, payload: InvoiceIssued | PaymentDeclined) -> tuple[UUID, str, str | None]:
    if isinstance(payload, InvoiceIssued):
        return order_id, "confirmed", payload.invoice_number
    return order_id, "declined", None


def _event(order: Row[Any], verdict: Verdict) -> outbox.Event:
    order_id = str(order.order_id)
    told: Payload
    if isinstance(verdict.payload, InvoiceIssued):
        told = OrderConfirmed(order_id=order_id, invoice_number=verdict.payload.invoice_number)
    else:
        told = OrderCancelled(
            order_id=order_id, reason="payment_declined", currency=order.currency, amount_minor=order.amount_minor
        )
    return order_event(order, told, verdict.traceparent)
