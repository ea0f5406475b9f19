"""Billing's verdict settles an order once, in the caller's transaction."""

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine, event, text

from services.orders import tables
from services.orders.settle_orders import settle_orders
from shared.database import transaction
from shared.errors import PermanentError
from shared.events import CreditNoteIssued
from shared.inbox import Delivery
from tests.conftest import eventually
from tests.integration.orders.examples import WAITING, Place, Rows, delivery, invoice_issued, payment_declined

EVENTS = "SELECT type, aggregate_version, convert_from(payload, 'UTF8')::jsonb AS payload FROM outbox ORDER BY id"
LOCK = text("SELECT 1 FROM orders WHERE order_id = :id FOR UPDATE NOWAIT")
STATES = "SELECT state, version, invoice_number FROM orders ORDER BY order_id"


def settle(engine: Engine, *deliveries: Delivery) -> None:
    with transaction(engine) as connection:
        settle_orders(connection, deliveries)


def settle_by_scan(engine: Engine, *deliveries: Delivery) -> None:
    """Settle with the plan that PostgreSQL takes when many orders are asked for: through the table, not the index."""
    with transaction(engine) as connection:
        connection.execute(text("SET LOCAL enable_indexscan = off"))
        connection.execute(text("SET LOCAL enable_bitmapscan = off"))
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


def test_a_batch_waits_for_a_cancellation_in_flight(engine: Engine, place: Place, rows: Rows) -> None:
    """It decides by the state behind the lock, not by one that it saw before it."""
    order_id = place()
    with ThreadPoolExecutor() as threads, engine.connect() as canceller:
        tables.cancel_if_open(canceller, UUID(order_id))
        work = threads.submit(settle, engine, invoice_issued(order_id))
        eventually(lambda: rows(WAITING)[0]["waiting"] == 1, describe="the batch waits for the order's lock")
        canceller.commit()
        work.result()
    assert rows(STATES) == [{"state": "cancelled", "version": 2, "invoice_number": None}]
    assert [row["type"] for row in rows(EVENTS)] == ["OrderPlaced"]


def test_a_batch_that_waits_for_an_order_holds_none_behind_it(engine: Engine, place: Place, rows: Rows) -> None:
    """Locks are taken in the order of ids, wherever the rows lie: two members with the same orders cannot deadlock."""
    first, second, third = sorted(place() for _ in range(3))
    with engine.begin() as connection:
        # Moves the first order's row behind the others, so that a scan comes to it last.
        connection.execute(text("UPDATE orders SET email = email WHERE order_id = :id"), {"id": first})
    with ThreadPoolExecutor() as threads, engine.connect() as holder, engine.connect() as other:
        holder.execute(LOCK, {"id": first})
        work = threads.submit(settle_by_scan, engine, *map(invoice_issued, (third, second, first)))
        eventually(lambda: rows(WAITING)[0]["waiting"] == 1, describe="the batch waits for the first order")
        assert len(other.execute(LOCK, {"id": second}).all()) == 1
        other.rollback()
        holder.rollback()
        work.result()
    assert rows("SELECT DISTINCT state, version FROM orders") == [{"state": "confirmed", "version": 2}]
