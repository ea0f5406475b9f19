"""What a batch of order events leaves in billing's database."""

from uuid import UUID

import pytest
from sqlalchemy import Engine, event, text
from sqlalchemy.exc import IntegrityError

from services.billing import bill_orders
from shared import events
from shared.database import transaction
from shared.errors import PermanentError
from shared.events import CreditNoteIssued, InvoiceIssued, PaymentDeclined, SendInvoice
from shared.inbox import DatabaseInbox
from tests.integration.billing.orders import (
    NoInbox,
    bill,
    cancelled,
    confirmed,
    deliver,
    everything,
    placed,
    rows,
)

OUTBOX = "SELECT type, aggregate_type, aggregate_id, aggregate_version, destination, payload FROM outbox ORDER BY id"


def test_a_placed_order_is_paid_invoiced_told_and_mailed(engine: Engine) -> None:
    """One transaction holds the bill, the payment, the invoice, the fact and the command, all with one amount."""
    order = placed(amount_minor=1234)
    batch = deliver(order)
    bill(engine, batch)
    assert rows(engine, "SELECT order_id, state, version, amount_minor FROM bill") == [
        (UUID(order.order_id), "invoiced", 1, 1234)
    ]
    assert rows(engine, "SELECT order_id, status, amount_minor FROM payment") == [
        (UUID(order.order_id), "authorised", 1234)
    ]
    [invoice] = rows(engine, "SELECT * FROM invoice")
    assert (invoice.order_id, invoice.amount_minor, invoice.currency) == (UUID(order.order_id), 1234, "EUR")
    assert invoice.number == f"INV-{invoice.issued_at.year}-000001"
    assert invoice.event_id == batch[0].envelope.event_id
    fact, command = rows(engine, OUTBOX)
    assert fact[:5] == ("InvoiceIssued", "bill", order.order_id, 1, "event")
    assert command[:5] == ("SendInvoice", "email", order.order_id, 1, "command")
    issued, send = events.decode(fact.type, fact.payload), events.decode(command.type, command.payload)
    assert isinstance(issued, InvoiceIssued)
    assert isinstance(send, SendInvoice)
    assert (issued.invoice_number, issued.amount_minor) == (send.invoice_number, send.amount_minor)
    assert (send.invoice_number, send.amount_minor, send.lines) == (invoice.number, 1234, order.lines)
    assert issued.issued_at == invoice.issued_at.isoformat()


def test_a_declined_payment_gets_no_invoice_and_no_number(engine: Engine) -> None:
    """The bill remembers the refusal and PaymentDeclined tells it; the series is not touched."""
    order = placed(currency="JPY", amount_minor=10_001)
    bill(engine, deliver(order))
    assert rows(engine, "SELECT state, version FROM bill") == [("declined", 1)]
    assert rows(engine, "SELECT status FROM payment") == [("declined",)]
    assert rows(engine, "SELECT * FROM invoice") == rows(engine, "SELECT * FROM number_series") == []
    [told] = rows(engine, OUTBOX)
    assert told[:5] == ("PaymentDeclined", "bill", order.order_id, 1, "event")
    assert isinstance(events.decode(told.type, told.payload), PaymentDeclined)


def test_a_cancelled_order_gets_a_credit_note_and_a_refund_of_its_invoice(engine: Engine) -> None:
    """The amount and the number are those of the invoice, whatever the cancellation says."""
    order = placed(amount_minor=700)
    bill(engine, deliver(order))
    lying = events.OrderCancelled(order_id=order.order_id, reason="customer", currency="USD", amount_minor=1)
    bill(engine, deliver(lying))
    [invoice] = rows(engine, "SELECT number FROM invoice")
    [note] = rows(engine, "SELECT * FROM credit_note")
    assert (note.series, note.sequence, note.invoice_number) == ("CRN", 1, invoice.number)
    assert (note.currency, note.amount_minor) == ("EUR", 700)
    assert rows(engine, "SELECT status, amount_minor FROM payment ORDER BY created_at") == [
        ("authorised", 700),
        ("refunded", 700),
    ]
    assert rows(engine, "SELECT state, version FROM bill") == [("credited", 2)]
    told = rows(engine, OUTBOX)[-1]
    assert told[:5] == ("CreditNoteIssued", "bill", order.order_id, 2, "event")
    fact = events.decode(told.type, told.payload)
    assert isinstance(fact, CreditNoteIssued)
    assert (fact.credit_note_number, fact.invoice_number, fact.amount_minor) == (note.number, invoice.number, 700)


def test_a_batch_may_hold_every_shape_of_event(engine: Engine) -> None:
    """Placed and cancelled in one batch, declined and then cancelled, several currencies, billing's own news."""
    plain, burst, declined, dinar = placed(), placed(), placed(amount_minor=1_000_001), placed(currency="KWD")
    bill(
        engine,
        deliver(
            plain, burst, declined, cancelled(burst), confirmed(plain), cancelled(declined, "payment_declined"), dinar
        ),
    )
    assert dict(rows(engine, "SELECT order_id::text, state FROM bill")) == {
        plain.order_id: "invoiced",
        burst.order_id: "credited",
        declined.order_id: "declined",
        dinar.order_id: "invoiced",
    }
    assert rows(engine, "SELECT sequence, order_id::text, currency FROM invoice ORDER BY sequence") == [
        (1, plain.order_id, "EUR"),
        (2, burst.order_id, "EUR"),
        (3, dinar.order_id, "KWD"),
    ]
    assert rows(engine, "SELECT order_id::text FROM credit_note") == [(burst.order_id,)]
    assert [(row.type, row.aggregate_id) for row in rows(engine, OUTBOX)] == [
        ("InvoiceIssued", plain.order_id),
        ("SendInvoice", plain.order_id),
        ("InvoiceIssued", burst.order_id),
        ("SendInvoice", burst.order_id),
        ("PaymentDeclined", declined.order_id),
        ("CreditNoteIssued", burst.order_id),
        ("InvoiceIssued", dinar.order_id),
        ("SendInvoice", dinar.order_id),
    ], "what is told leaves in the order of the events that caused it"


def test_the_same_batch_again_changes_nothing(engine: Engine) -> None:
    """Redelivered as it was, in parts, or mixed with new events: the inbox lets through what is new, and only that."""
    order, other = placed(), placed()
    batch = deliver(order, placed(amount_minor=2_000_000), cancelled(order))
    bill(engine, batch)
    before = everything(engine)
    bill(engine, batch)
    bill(engine, [*batch, *batch[1:]])
    assert everything(engine) == before
    bill(engine, [*batch, *deliver(other)])
    assert rows(engine, "SELECT count(*) FROM invoice") == [(2,)]


def test_a_second_cancellation_changes_nothing(engine: Engine) -> None:
    """A different event that says the same: the bill's own state says that it is credited."""
    order = placed()
    bill(engine, deliver(order, cancelled(order)))
    bill(engine, deliver(cancelled(order)))
    assert rows(engine, "SELECT count(*) FROM credit_note") == [(1,)]
    assert rows(engine, "SELECT version FROM bill") == [(2,)]


def test_a_cancellation_of_what_was_never_billed_does_nothing(engine: Engine) -> None:
    """There is nothing to give back; it neither fails nor draws a number."""
    bill(engine, deliver(cancelled(placed())))
    assert rows(engine, "SELECT * FROM outbox") == rows(engine, "SELECT * FROM number_series") == []


def test_without_the_inbox_a_unique_constraint_stops_the_batch(engine: Engine) -> None:
    """The second guard turns the bug into an error, and the roll-back takes everything with it."""
    batch = deliver(placed())
    bill(engine, batch)
    before = everything(engine)
    with pytest.raises(IntegrityError, match="bill_pkey"):
        bill(engine, [*deliver(placed()), *batch], NoInbox())
    assert everything(engine) == before


@pytest.mark.parametrize(
    "broken",
    [
        placed(currency="XXX"),
        placed(order_id="not-a-uuid"),
    ],
)
def test_an_event_that_can_never_be_billed_is_a_permanent_error(engine: Engine, broken: events.OrderPlaced) -> None:
    """It is raised before anything is written, and the transaction keeps nothing of its batch."""
    with pytest.raises(PermanentError):
        bill(engine, deliver(placed(), broken))
    assert not any(everything(engine).values())


def test_the_trace_goes_on_from_order_to_invoice_and_mail(engine: Engine) -> None:
    """What billing tells carries the trace of the event that it answers."""
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    order = placed()
    bill(engine, deliver(order, cancelled(order), traceparent=trace))
    assert rows(engine, "SELECT DISTINCT traceparent FROM outbox") == [(trace,)]
    assert rows(engine, "SELECT count(*) FROM outbox") == [(3,)]


def test_a_batch_costs_the_same_statements_whatever_its_size(engine: Engine) -> None:
    """One statement a table: the count gates what a clock cannot."""
    orders = [placed() for _ in range(200)]
    small = [placed()]
    counts = [
        _statements(engine, [*these, cancelled(these[0]), placed(amount_minor=2_000_000)]) for these in (small, orders)
    ]
    assert counts[0] == counts[1]
    assert counts[0] <= 12, "inbox, bill, payment, credit, refund, two series, invoice, look-up, credit note, outbox"


@pytest.mark.usefixtures("granted")
def test_the_consumers_role_may_do_all_this(engine: Engine) -> None:
    """The process runs with the rights of its role; the schema's owner is somebody else."""
    order = placed()
    with transaction(engine) as connection:
        connection.execute(text("SET LOCAL ROLE billing_consumer"))
        fresh = DatabaseInbox("billing").new(connection, deliver(order, cancelled(order)))
        bill_orders.apply(connection, fresh)
    assert rows(engine, "SELECT count(*) FROM credit_note") == [(1,)]


def _statements(engine: Engine, payloads: list[events.OrderPayload]) -> int:
    seen: list[str] = []

    def count(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        seen.append(statement)

    event.listen(engine, "before_cursor_execute", count)
    try:
        bill(engine, deliver(*payloads))
    finally:
        event.remove(engine, "before_cursor_execute", count)
    return len(seen)
