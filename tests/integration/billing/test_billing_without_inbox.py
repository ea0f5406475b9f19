"""What the inbox is for. In a database of its own, whose second guards are taken out."""

from collections import Counter

from sqlalchemy import Engine

from tests.integration.billing.orders import NoInbox, bill, cancelled, deliver, placed, rows, without_uniques


def test_without_the_inbox_every_effect_doubles(engine: Engine) -> None:
    """Nothing else keeps it once: with the UNIQUEs gone too, a redelivery makes a second invoice, refund and mail."""
    without_uniques(engine)
    order = placed()
    batch = deliver(order, cancelled(order))
    bill(engine, batch, NoInbox())
    bill(engine, batch, NoInbox())
    assert rows(engine, "SELECT count(*), count(DISTINCT number) FROM invoice") == [(2, 2)]
    told = Counter(row.type for row in rows(engine, "SELECT type FROM outbox"))
    assert told["InvoiceIssued"] == told["SendInvoice"] == 2
    assert told["CreditNoteIssued"] >= 2
