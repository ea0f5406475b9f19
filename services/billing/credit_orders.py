"""Credit cancelled orders: an invoice that was issued is answered by a credit note and a refund of the same amount.

Invariant: a bill is credited at most once, and only when it was invoiced. Its row's state decides, under its lock; the
amount is the bill's own, never the cancellation's.

An order without an invoiced bill needs no credit: its payment was declined, it is credited already, or its bill was
never written because its first event was discarded by hand. Within one order the cancellation cannot arrive before
the placement: both have one key, so one partition, and a placement that is parked holds it back.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from sqlalchemy import Connection

from services.billing import numbers, payments
from services.billing.bill_states import CREDITED
from services.billing.numbers import Number
from services.billing.payments import Payment
from shared import outbox
from shared.envelope import Envelope
from shared.events import CreditNoteIssued

SOURCE: Final = "/billing"


@dataclass(frozen=True, slots=True)
class Cancellation:
    place: int
    """Where in the batch its event stands."""
    envelope: Envelope
    order_id: UUID


@dataclass(frozen=True, slots=True)
class Credit:
    """A bill that has been turned to credited, with the cancellation that did it."""

    cancellation: Cancellation
    version: int
    currency: str
    amount_minor: int


# Locked in the order of the orders, so that two transactions never wait for each other in a ring.
_CREDIT_BILLS: Final = """
WITH due AS (SELECT order_id FROM bill WHERE order_id = ANY(%(order_id)s::uuid[]) AND state = %(from)s
             ORDER BY order_id FOR UPDATE)
UPDATE bill SET state = %(to)s, version = version + 1 FROM due WHERE bill.order_id = due.order_id
RETURNING bill.order_id, bill.version, bill.currency, bill.amount_minor
"""


def credit_bills(connection: Connection, cancellations: Sequence[Cancellation]) -> list[Credit]:
    """Turn the invoiced bills among the cancelled orders to credited, refund them, and return them in batch order.

    Writes through the caller's connection; never commits.
    """
    if not cancellations:
        return []
    by_order = {c.order_id: c for c in cancellations}
    rows = connection.exec_driver_sql(
        _CREDIT_BILLS, {"order_id": list(by_order), "from": CREDITED.state, "to": CREDITED.to}
    )
    found = [Credit(by_order[row.order_id], row.version, row.currency, row.amount_minor) for row in rows]
    credits = sorted(found, key=lambda credit: credit.cancellation.place)
    payments.record(
        connection, [Payment(c.cancellation.order_id, "refunded", c.currency, c.amount_minor) for c in credits]
    )
    return credits


def issue_credit_notes(connection: Connection, credits: Sequence[Credit]) -> list[tuple[int, outbox.Event]]:
    """Number and write the credit notes; return what is to be told, by place in the batch."""
    if not credits:
        return []
    invoices = _invoice_numbers(connection, credits)
    drawn = numbers.draw(connection, numbers.CREDIT_NOTES, len(credits))
    _insert_credit_notes(connection, credits, drawn, invoices)
    return [
        (c.cancellation.place, _credited(c, number, invoices[c.cancellation.order_id]))
        for c, number in zip(credits, drawn, strict=True)
    ]


_INVOICE_NUMBERS: Final = "SELECT order_id, number FROM invoice WHERE order_id = ANY(%(order_id)s::uuid[])"


def _invoice_numbers(connection: Connection, credits: Sequence[Credit]) -> dict[UUID, str]:
    rows = connection.exec_driver_sql(_INVOICE_NUMBERS, {"order_id": [c.cancellation.order_id for c in credits]})
    return {row.order_id: row.number for row in rows}


_INSERT_CREDIT_NOTES: Final = """
INSERT INTO credit_note (number, series, year, sequence, order_id, invoice_number, currency, amount_minor, issued_at)
SELECT * FROM unnest(%(number)s::text[], %(series)s::text[], %(year)s::int[], %(sequence)s::int[],
                     %(order_id)s::uuid[], %(invoice_number)s::text[], %(currency)s::text[],
                     %(amount_minor)s::bigint[], %(issued_at)s::timestamptz[])
"""


def _insert_credit_notes(
    connection: Connection, credits: Sequence[Credit], drawn: Sequence[Number], invoices: dict[UUID, str]
) -> None:
    connection.exec_driver_sql(
        _INSERT_CREDIT_NOTES,
        {
            "number": [str(n) for n in drawn],
            "series": [n.series for n in drawn],
            "year": [n.year for n in drawn],
            "sequence": [n.sequence for n in drawn],
            "order_id": [c.cancellation.order_id for c in credits],
            "invoice_number": [invoices[c.cancellation.order_id] for c in credits],
            "currency": [c.currency for c in credits],
            "amount_minor": [c.amount_minor for c in credits],
            "issued_at": [n.issued_at for n in drawn],
        },
    )


def _credited(credit: Credit, number: Number, invoice_number: str) -> outbox.Event:
    order_id = credit.cancellation.envelope.aggregate_id
    fact = CreditNoteIssued(
        order_id=order_id,
        credit_note_number=str(number),
        invoice_number=invoice_number,
        currency=credit.currency,
        amount_minor=credit.amount_minor,
        issued_at=number.issued_at.isoformat(),
    )
    return outbox.new_event(
        "bill",
        order_id,
        credit.version,
        fact,
        source=SOURCE,
        traceparent=credit.cancellation.envelope.traceparent,
    )
