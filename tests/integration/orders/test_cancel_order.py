"""A customer can cancel until the order is declined or cancelled, and the order's events keep its order."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from uuid import UUID, uuid4

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine

from services.orders.cancel_order import cancel_order
from services.orders.errors import NotCancellableError
from services.orders.settle_orders import settle_orders
from shared.database import transaction
from tests.integration.orders.examples import Place, Rows, invoice_issued, payment_declined

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
VERSIONS = "SELECT aggregate_version, type, traceparent FROM outbox ORDER BY id"
OUT_OF_ORDER = """
SELECT aggregate_id, aggregate_version, turn
FROM (SELECT *, row_number() OVER (PARTITION BY aggregate_id ORDER BY id) AS turn FROM outbox) AS numbered
WHERE aggregate_version <> turn
"""
MISCOUNTED = "SELECT 1 FROM orders WHERE version <> (SELECT count(*) FROM outbox WHERE aggregate_id = order_id::text)"


def test_a_placed_order_is_cancelled(client: FlaskClient, place: Place, rows: Rows) -> None:
    """State, version and event move together."""
    order_id = place()
    response = client.post(f"/orders/{order_id}/cancel", headers={"traceparent": TRACE})
    assert response.status_code == 200
    assert (response.json["state"], response.json["version"]) == ("cancelled", 2)  # type: ignore[index]
    assert rows(VERSIONS)[1] == {"aggregate_version": 2, "type": "OrderCancelled", "traceparent": TRACE}


def test_a_confirmed_order_is_cancelled_and_keeps_its_invoice_number(
    client: FlaskClient, engine: Engine, place: Place
) -> None:
    """Billing answers such a cancellation with a credit note for that invoice."""
    order_id = place()
    with transaction(engine) as connection:
        settle_orders(connection, [invoice_issued(order_id)])
    answer = client.post(f"/orders/{order_id}/cancel").json
    assert answer is not None
    assert (answer["state"], answer["version"], answer["invoice_number"]) == ("cancelled", 3, "INV-2026-000001")


@pytest.mark.parametrize("state", ["cancelled", "declined"])
def test_a_closed_order_is_a_409_that_names_its_state(
    client: FlaskClient, engine: Engine, place: Place, rows: Rows, state: str
) -> None:
    """Nothing is left to cancel, and nothing is written."""
    order_id = place()
    if state == "cancelled":
        client.post(f"/orders/{order_id}/cancel")
    else:
        with transaction(engine) as connection:
            settle_orders(connection, [payment_declined(order_id)])
    response = client.post(f"/orders/{order_id}/cancel")
    assert response.status_code == 409
    assert response.json["state"] == state  # type: ignore[index]
    assert len(rows(VERSIONS)) == 2


def test_an_unknown_order_is_a_404(client: FlaskClient, rows: Rows) -> None:
    """There is nothing to show or to cancel."""
    unknown = uuid4()
    assert client.get(f"/orders/{unknown}").status_code == 404
    assert client.post(f"/orders/{unknown}/cancel").status_code == 404
    assert rows(VERSIONS) == []


def test_a_locked_order_makes_its_cancellation_wait_a_bounded_time(
    client: FlaskClient, engine: Engine, place: Place, rows: Rows
) -> None:
    """A holder that never ends must not take the API's threads with it: 503, nothing written."""
    order_id = place()
    with engine.connect() as holder:
        holder.exec_driver_sql("SELECT 1 FROM orders FOR UPDATE")
        response = client.post(f"/orders/{order_id}/cancel")
    assert response.status_code == 503
    assert response.headers["Retry-After"]
    assert len(rows(VERSIONS)) == 1


def test_cancellations_and_verdicts_that_meet_keep_every_orders_versions_in_order(
    engine: Engine, place: Place, rows: Rows
) -> None:
    """Ids of one order's events are drawn in the order of its versions, whoever comes first."""
    order_ids = [place() for _ in range(40)]
    start = threading.Barrier(4)

    def cancel(order: list[str]) -> None:
        start.wait()
        for order_id in order:
            with suppress(NotCancellableError):
                cancel_order(engine, UUID(order_id), traceparent=TRACE, wait_seconds=10)

    def settle(order: list[str]) -> None:
        start.wait()
        for chunk in range(0, len(order), 10):
            with transaction(engine) as connection:
                settle_orders(connection, [invoice_issued(order_id) for order_id in order[chunk : chunk + 10]])

    with ThreadPoolExecutor() as threads:
        work = [threads.submit(cancel, _shuffled(order_ids)) for _ in range(2)]
        work += [threads.submit(settle, _shuffled(order_ids)) for _ in range(2)]
        for each in work:
            each.result()
    assert rows(OUT_OF_ORDER) == []
    assert rows(MISCOUNTED) == []
    assert rows("SELECT DISTINCT state FROM orders") == [{"state": "cancelled"}]


def _shuffled(order_ids: list[str]) -> list[str]:
    return random.sample(order_ids, len(order_ids))
