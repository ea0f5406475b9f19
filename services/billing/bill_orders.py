"""Apply a batch of order events: charge and invoice what was placed, credit what was cancelled.

Invariant: bill, payment, invoice and the events that tell of them are written in the transaction of the inbox rows, so
an order is billed once however often its event is delivered. Nothing here looks whether a bill exists before it writes
one: such a look would be a race, and the inbox has already decided.

The batch is handled by sets, one statement a table. The order of the statements matters twice: the bill's row comes
before the outbox rows that speak of it (their ids must be drawn under the bill's lock), and the number series come as
late as possible (they make transactions wait for each other).

Not promised: that an invoice's e-mail has left. It is commanded here, through the same outbox, and commanded again by
``remind_mails`` if it does not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from msgspec import json
from sqlalchemy import Connection

from services.billing import credit_orders, numbers, payments
from services.billing.bill_states import DECLINED, INVOICED
from services.billing.errors import BrokenOrderId
from services.billing.numbers import Number
from services.billing.payments import Payment
from shared import outbox
from shared.envelope import Envelope
from shared.events import InvoiceIssued, OrderCancelled, OrderPlaced, PaymentDeclined, SendInvoice
from shared.inbox import Delivery
from shared.state_machine import Transition

SOURCE: Final = "/billing"
DECLINED_CODE: Final = "amount_above_limit"
DECLINED_DETAIL: Final = "The total is above what one payment may be."


@dataclass(frozen=True, slots=True)
class Charge:
    """A placed order, and the bill that it gets by what the payment rule says."""

    place: int
    """Where in the batch its event stands: what is told of it leaves in the same order."""
    envelope: Envelope
    order: OrderPlaced
    order_id: UUID
    becomes: Transition

    @property
    def invoiced(self) -> bool:
        return self.becomes is INVOICED


def apply(connection: Connection, batch: Sequence[Delivery]) -> None:
    """Bill and credit new deliveries. Writes through the caller's connection; never commits.

    Raises PermanentError for an event that can never be applied.
    """
    charges, cancellations = _sort_out(batch)
    _write_bills(connection, charges)
    credits = credit_orders.credit_bills(connection, cancellations)
    # From the next line to the commit the series of numbers are locked.
    news = _issue_invoices(connection, [c for c in charges if c.invoiced])
    news += [(c.place, _declined(c)) for c in charges if not c.invoiced]
    news += credit_orders.issue_credit_notes(connection, credits)
    outbox.add(connection, *(event for _, event in sorted(news, key=lambda placed: placed[0])))


def read(delivery: Delivery) -> None:
    """Find out, from the delivery alone, whether it can be billed. Raises PermanentError if it never can."""
    payload = delivery.payload
    if isinstance(payload, OrderPlaced):
        payments.authorise(payload.currency, payload.amount_minor)
    if isinstance(payload, OrderPlaced | OrderCancelled):
        _uuid(payload.order_id)


def _sort_out(batch: Sequence[Delivery]) -> tuple[list[Charge], list[credit_orders.Cancellation]]:
    charges, cancellations = [], []
    for place, delivery in enumerate(batch):
        envelope = delivery.envelope
        payload = delivery.payload
        if isinstance(payload, OrderPlaced):
            becomes = INVOICED if payments.authorise(payload.currency, payload.amount_minor) else DECLINED
            charges.append(Charge(place, envelope, payload, _uuid(payload.order_id), becomes))
        elif isinstance(payload, OrderCancelled):
            cancellations.append(credit_orders.Cancellation(place, envelope, _uuid(payload.order_id)))
        # OrderConfirmed is billing's own news, come back.
    return charges, cancellations


def _uuid(order_id: str) -> UUID:
    try:
        return UUID(order_id)
    except ValueError as error:
        raise BrokenOrderId(order_id) from error


def _write_bills(connection: Connection, charges: Sequence[Charge]) -> None:
    if not charges:
        return
    _insert_bills(connection, charges)
    payments.record(
        connection,
        [
            Payment(c.order_id, "authorised" if c.invoiced else "declined", c.order.currency, c.order.amount_minor)
            for c in charges
        ],
    )


# Sorted by order, so that two members who hold the same orders wait for each other instead of deadlocking.
_INSERT_BILLS: Final = """
INSERT INTO bill (order_id, customer_id, email, currency, amount_minor, state, version)
SELECT *, 1 FROM unnest(%(order_id)s::uuid[], %(customer_id)s::text[], %(email)s::text[], %(currency)s::text[],
                        %(amount_minor)s::bigint[], %(state)s::text[]) AS given (order_id)
ORDER BY order_id
"""


def _insert_bills(connection: Connection, charges: Sequence[Charge]) -> None:
    connection.exec_driver_sql(
        _INSERT_BILLS,
        {
            "order_id": [c.order_id for c in charges],
            "customer_id": [c.order.customer_id for c in charges],
            "email": [c.order.email for c in charges],
            "currency": [c.order.currency for c in charges],
            "amount_minor": [c.order.amount_minor for c in charges],
            "state": [c.becomes.to for c in charges],
        },
    )


def _issue_invoices(connection: Connection, charges: Sequence[Charge]) -> list[tuple[int, outbox.Event]]:
    """Number and write the invoices of authorised charges; return what is to be told, by place in the batch."""
    if not charges:
        return []
    drawn = numbers.draw(connection, numbers.INVOICES, len(charges))
    mails = [_mail(c, number) for c, number in zip(charges, drawn, strict=True)]
    _insert_invoices(connection, charges, drawn, mails)
    facts = [(c.place, _invoiced(c, number)) for c, number in zip(charges, drawn, strict=True)]
    return facts + [(c.place, mail) for c, mail in zip(charges, mails, strict=True)]


# The invoice keeps the lines and the command's event id, so that a mail that never left can be commanded again.
_INSERT_INVOICES: Final = """
INSERT INTO invoice (number, series, year, sequence, order_id, currency, amount_minor, issued_at, event_id, lines,
                     mail_event_id)
SELECT * FROM unnest(%(number)s::text[], %(series)s::text[], %(year)s::int[], %(sequence)s::int[],
                     %(order_id)s::uuid[], %(currency)s::text[], %(amount_minor)s::bigint[],
                     %(issued_at)s::timestamptz[], %(event_id)s::uuid[], %(lines)s::jsonb[], %(mail_event_id)s::uuid[])
"""


def _insert_invoices(
    connection: Connection, charges: Sequence[Charge], drawn: Sequence[Number], mails: Sequence[outbox.Event]
) -> None:
    connection.exec_driver_sql(
        _INSERT_INVOICES,
        {
            "number": [str(n) for n in drawn],
            "series": [n.series for n in drawn],
            "year": [n.year for n in drawn],
            "sequence": [n.sequence for n in drawn],
            "order_id": [c.order_id for c in charges],
            "currency": [c.order.currency for c in charges],
            "amount_minor": [c.order.amount_minor for c in charges],
            "issued_at": [n.issued_at for n in drawn],
            "event_id": [c.envelope.event_id for c in charges],
            "lines": [json.encode(c.order.lines).decode() for c in charges],
            "mail_event_id": [mail.event_id for mail in mails],
        },
    )


def _invoiced(charge: Charge, number: Number) -> outbox.Event:
    order = charge.order
    fact = InvoiceIssued(
        order_id=order.order_id,
        invoice_number=str(number),
        customer_id=order.customer_id,
        email=order.email,
        currency=order.currency,
        amount_minor=order.amount_minor,
        issued_at=number.issued_at.isoformat(),
    )
    trace = charge.envelope.traceparent
    return outbox.new_event("bill", order.order_id, 1, fact, source=SOURCE, traceparent=trace)


def _mail(charge: Charge, number: Number) -> outbox.Event:
    """Command the e-mail that carries an invoice."""
    order = charge.order
    command = SendInvoice(
        order_id=order.order_id,
        invoice_number=str(number),
        email=order.email,
        currency=order.currency,
        amount_minor=order.amount_minor,
        lines=order.lines,
        issued_at=number.issued_at.isoformat(),
    )
    trace = charge.envelope.traceparent
    return outbox.new_event(
        "email", order.order_id, 1, command, source=SOURCE, destination="command", traceparent=trace
    )


def _declined(charge: Charge) -> outbox.Event:
    order = charge.order
    fact = PaymentDeclined(
        order_id=order.order_id,
        code=DECLINED_CODE,
        detail=DECLINED_DETAIL,
        currency=order.currency,
        amount_minor=order.amount_minor,
    )
    trace = charge.envelope.traceparent
    return outbox.new_event("bill", order.order_id, 1, fact, source=SOURCE, traceparent=trace)
