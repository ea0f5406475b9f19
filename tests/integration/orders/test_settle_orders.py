"""Billing's verdict settles an order once, in the caller's transaction."""

import threading
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from sqlalchemy import Engine, event

from services.orders.settle_orders import settle_orders
from shared.database import transaction
from shared.errors import PermanentError
from shared.events import CreditNoteIssued
from shared.inbox import Delivery
from tests.integration.orders.examples import Place, Rows, delivery, invoice_issued, payment_declined

EVENTS = "SELECT type, aggregate_version, convert_from(payload, 'UTF8')::jsonb AS payload FROM outbox ORDER BY id"
STATES = "SELECT state, version, invoice_number FROM orders ORDER BY order_id"


def settle(engine: Engine, *deliveries: Delivery) -> None:
    with transaction(engine) as connection:
        settle_orders(connection, deliveries)


def credit_note(order_id: str) -> Delivery:
    return delivery(
        CreditNoteIssued(
            order_id=order_id,
            credit_note_number="CRN-2026-000001",
            invoice_number="INV-2026-000001",
            currency="EUR",
            amount_minor=900,
            issued_at="2026-01-01T00:00:00Z",
        )
    )


def test_an_invoice_confirms(engine: Engine, place: Place, rows: Rows) -> None:
    """The order knows its invoice, and says that it is confirmed."""
    order_id = place()
    settle(engine, invoice_issued(order_id))
    assert rows(STATES) == [{"state": "confirmed", "version": 2, "invoice_number": "INV-2026-000001"}]
    told = rows(EVENTS)[1]
    assert (told["type"], told["aggregate_version"]) == ("OrderConfirmed", 2)
    assert told["payload"] == {"order_id": order_id, "invoice_number": "INV-2026-000001"}


def test_a_declined_payment_declines(engine: Engine, place: Place, rows: Rows) -> None:
    """The order is closed, and says so with its reason and amount."""
    order_id = place()
    settle(engine, payment_declined(order_id))
    assert rows(STATES) == [{"state": "declined", "version": 2, "invoice_number": None}]
    assert rows(EVENTS)[1]["payload"] == {
        "order_id": order_id,
        "reason": "payment_declined",
        "currency": "EUR",
        "amount_minor": 900,
    }


def test_a_verdict_that_comes_again_changes_nothing(engine: Engine, place: Place, rows: Rows) -> None:
    """The inbox stops copies of an event; the state stops a second verdict under another id."""
    order_id = place()
    settle(engine, invoice_issued(order_id), payment_declined(order_id))
    settle(engine, invoice_issued(order_id, "INV-2026-000002"), credit_note(order_id))
    assert rows(STATES) == [{"state": "confirmed", "version": 2, "invoice_number": "INV-2026-000001"}]
    assert len(rows(EVENTS)) == 2


def test_an_order_cancelled_meanwhile_stays_cancelled(engine: Engine, place: Place, rows: Rows, client) -> None:  # type: ignore[no-untyped-def]
    """Its customer was faster; billing hears of that by the order's own event."""
    order_id = place()
    client.post(f"/orders/{order_id}/cancel")
    settle(engine, invoice_issued(order_id), credit_note(order_id))
    assert rows(STATES)[0]["state"] == "cancelled"
    assert [row["type"] for row in rows(EVENTS)] == ["OrderPlaced", "OrderCancelled"]


def test_a_verdict_about_a_stranger_is_permanent(engine: Engine, place: Place, rows: Rows) -> None:
    """An invoice for an order that is not here must not be forgotten in silence, and nothing of the batch is kept."""
    with pytest.raises(PermanentError, match="not in this database"):
        settle(engine, invoice_issued(place()), invoice_issued(uuid4()))
    with pytest.raises(PermanentError, match="not the id of an order"):
        settle(engine, invoice_issued("no-uuid"))
    assert rows(STATES)[0]["state"] == "placed"


def test_a_batch_takes_three_statements_however_large(engine: Engine, place: Place) -> None:
    """Lock, settle, tell: what a clock cannot gate reliably, a count can."""
    order_ids = [place() for _ in range(30)]
    statements: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *arguments: statements.append(arguments[2].split()[0]))
    settle(engine, *(invoice_issued(order_id) for order_id in order_ids))
    assert statements == ["SELECT", "UPDATE", "INSERT"]


def test_two_batches_with_the_same_orders_do_not_deadlock(engine: Engine, place: Place, rows: Rows) -> None:
    """Two members can hold the same orders after a rebalance; each locks them in the order of their ids."""
    order_ids = [place() for _ in range(60)]
    start = threading.Barrier(2)

    def apply(order: list[str]) -> None:
        start.wait()
        for _ in range(5):
            settle(engine, *(invoice_issued(order_id) for order_id in order))

    with ThreadPoolExecutor() as threads:
        for each in [threads.submit(apply, order_ids), threads.submit(apply, order_ids[::-1])]:
            each.result()
    assert rows("SELECT DISTINCT state, version FROM orders") == [{"state": "confirmed", "version": 2}]
