"""Billing reads what orders has written, and what it writes itself obeys the contracts."""

from sqlalchemy import Engine

from tests.contract.agreement import batch_for, check_written
from tests.integration.billing.orders import bill, cancelled, deliver, placed, rows


def test_billing_applies_every_sample_that_it_hears(engine: Engine) -> None:
    """Each has its inbox row, and the sampled order its bill."""
    batch = batch_for("billing")
    bill(engine, batch)
    assert rows(engine, "SELECT count(*) FROM inbox") == [(len(batch),)]
    assert rows(engine, "SELECT count(*) FROM bill") == [(1,)]


def test_what_billing_writes_obeys_the_contracts(engine: Engine) -> None:
    """Invoice, command, refusal and credit note: by the schema that they name, in their sample's shape."""
    order = placed()
    bill(engine, deliver(order, cancelled(order), placed(amount_minor=5_000_000)))
    written = rows(engine, "SELECT type, dataschema, payload FROM outbox")
    assert {row.type for row in written} == {"InvoiceIssued", "SendInvoice", "PaymentDeclined", "CreditNoteIssued"}
    for row in written:
        check_written(row.dataschema, bytes(row.payload))
