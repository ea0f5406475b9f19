"""Orders reads what billing has written, and what it writes itself obeys the contracts."""

from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from services.orders import settle_orders
from shared.database import transaction
from tests.contract.agreement import batch_for, check_written
from tests.integration.orders.examples import Place, Rows, invoice_issued

KNOWN = """
INSERT INTO orders (order_id, customer_id, email, currency, amount_minor, lines, state, version, placed_at, updated_at)
SELECT CAST(:order_id AS uuid), customer_id, email, currency, amount_minor, lines, state, version, placed_at, updated_at
FROM orders LIMIT 1
"""


def test_orders_applies_every_sample_that_it_hears(engine: Engine, place: Place, rows: Rows) -> None:
    """A declined payment closes the order whichever version tells of it; an invoice confirms it."""
    place()
    batch = batch_for("orders")
    sampled = {delivery.aggregate_id for delivery in batch}
    with transaction(engine) as connection:
        connection.execute(text(KNOWN), [{"order_id": order_id} for order_id in sampled])
    with transaction(engine) as connection:
        settle_orders.settle_orders(connection, batch)
    states = {str(row["order_id"]): row["state"] for row in rows("SELECT order_id, state FROM orders")}
    told = {delivery.aggregate_id: delivery.envelope.type for delivery in batch}
    for order_id, kind in told.items():
        expected = {"InvoiceIssued": "confirmed", "PaymentDeclined": "declined", "CreditNoteIssued": "placed"}[kind]
        assert states[order_id] == expected


def test_what_orders_writes_obeys_the_contracts(client: FlaskClient, engine: Engine, place: Place, rows: Rows) -> None:
    """Placed, confirmed, cancelled: by the schema that they name, in their sample's shape."""
    order_id = place()
    with transaction(engine) as connection:
        settle_orders.settle_orders(connection, [invoice_issued(order_id)])
    assert client.post(f"/orders/{order_id}/cancel").status_code in (200, 202)
    written = rows("SELECT type, dataschema, payload FROM outbox ORDER BY id")
    assert [row["type"] for row in written] == ["OrderPlaced", "OrderConfirmed", "OrderCancelled"]
    for row in written:
        check_written(row["dataschema"], bytes(row["payload"]))
