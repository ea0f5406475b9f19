"""Settle orders by what billing says: the handler of billing's events.

What an event does to an order in which state is data, in ``order_states``. An order that its customer has cancelled
meanwhile stays cancelled; billing has heard of that by the order's own event.

Invariant: state, version and the event that tells of it are written in the caller's transaction, with the inbox rows,
behind the locks of all orders of the batch. Never commits. Three statements a batch, however large it is.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection, Row

from services.orders import tables
from services.orders.order_events import order_event
from services.orders.order_states import ORDER
from shared import outbox
from shared.errors import PermanentError
from shared.events import InvoiceIssued, OrderCancelled, OrderConfirmed, OrderPayload, Payload
from shared.inbox import Delivery
from shared.state_machine import Transition


@dataclass(frozen=True, slots=True)
class Step:
    """What one event does to its order."""

    transition: Transition
    payload: Payload
    traceparent: str | None


def settle_orders(connection: Connection, deliveries: Sequence[Delivery]) -> None:
    """Apply new deliveries. Raises PermanentError for an event about an order that this database does not have."""
    verdicts = [(_order_id(d.payload), d) for d in deliveries if ORDER.moved_by(d.envelope.type)]
    locked = tables.lock_orders(connection, list({order_id for order_id, _ in verdicts}))
    if strangers := {order_id for order_id, _ in verdicts} - locked.keys():
        raise PermanentError(f"billing has spoken about order {min(strangers)}, which is not in this database")
    if steps := _steps(verdicts, locked):
        settled = tables.settle(connection, [_outcome(order_id, step) for order_id, step in steps.items()])
        outbox.add(
            connection, *(event for order_id, step in steps.items() for event in _events(settled[order_id], step))
        )


def read(delivery: Delivery) -> None:
    """Find out, from the delivery alone, whether it can settle an order. Raises PermanentError if it never can."""
    payload = delivery.payload
    if ORDER.moved_by(delivery.envelope.type):
        _order_id(payload)


def _steps(verdicts: Sequence[tuple[UUID, Delivery]], locked: Mapping[UUID, Row[Any]]) -> dict[UUID, Step]:
    """Return what moves, in the order of delivery. One event moves an order: none leads on from where another led."""
    steps: dict[UUID, Step] = {}
    for order_id, delivery in verdicts:
        transition = ORDER.step(locked[order_id].state, delivery.envelope.type)
        if transition is not None:
            steps.setdefault(order_id, Step(transition, delivery.payload, delivery.envelope.traceparent))
    return steps


def _order_id(payload: Payload) -> UUID:
    assert isinstance(payload, OrderPayload)
    try:
        return UUID(payload.order_id)
    except ValueError:
        raise PermanentError(f"{payload.order_id!r} is not the id of an order") from None


def _outcome(order_id: UUID, step: Step) -> tuple[UUID, str, str | None]:
    invoice_number = step.payload.invoice_number if isinstance(step.payload, InvoiceIssued) else None
    return order_id, step.transition.to, invoice_number


def _events(order: Row[Any], step: Step) -> list[outbox.Event]:
    return [order_event(order, _TOLD[kind](order, step.payload), step.traceparent) for kind in step.transition.tells]


def _confirmed(order: Row[Any], verdict: Any) -> Payload:
    return OrderConfirmed(order_id=str(order.order_id), invoice_number=verdict.invoice_number)


def _cancelled(order: Row[Any], _verdict: Any) -> Payload:
    return OrderCancelled(
        order_id=str(order.order_id),
        reason="payment_declined",
        currency=order.currency,
        amount_minor=order.amount_minor,
    )


_TOLD: Final[Mapping[str, Callable[[Row[Any], Any], Payload]]] = {
    "OrderConfirmed": _confirmed,
    "OrderCancelled": _cancelled,
}
