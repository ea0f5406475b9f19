"""An order, its event and its key are one thing, and a key has one order."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from uuid import uuid4

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Connection, Engine, event, select, text
from structlog.testing import capture_logs
from werkzeug.test import TestResponse

from services.orders import tables
from services.orders.settings import ApiSettings
from services.orders.wiring import build_api
from shared import failpoints
from shared.clock import utc_now
from shared.failpoints import Failpoint
from tests.conftest import eventually
from tests.integration.orders.examples import WAITING, Place, Rows, order_body, order_headers, trigger

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
COUNTS = """
SELECT (SELECT count(*) FROM orders) AS orders, (SELECT count(*) FROM outbox) AS events,
       (SELECT count(*) FROM idempotency_key) AS keys
"""
ORDER = {
    "customer_id": "c-1",
    "email": "ada@example.org",
    "currency": "EUR",
    "amount_minor": 900,
    "lines": [],
    "placed_at": utc_now(),
}


def test_an_order_is_written_with_its_event_and_its_key(client: FlaskClient, rows: Rows) -> None:
    """One request leaves one row in each of the three tables, all from one transaction."""
    response = client.post("/orders", data=order_body(), headers=order_headers("k-1", traceparent=TRACE))
    assert response.status_code == 201
    order_id = response.json["order_id"]  # type: ignore[index]
    assert response.headers["Location"] == f"/orders/{order_id}"
    [order] = rows("SELECT *, xmin::text FROM orders")
    [event] = rows("SELECT *, xmin::text FROM outbox")
    [key] = rows("SELECT *, xmin::text FROM idempotency_key")
    assert order["xmin"] == event["xmin"] == key["xmin"]
    assert (str(order["order_id"]), order["state"], order["version"], order["amount_minor"]) == (
        order_id,
        "placed",
        1,
        900,
    )
    assert (event["aggregate_id"], event["aggregate_version"], event["type"]) == (order_id, 1, "OrderPlaced")
    assert (event["source"], event["traceparent"]) == ("/orders", TRACE)
    assert json.loads(event["payload"])["lines"] == [{"sku": "tea", "quantity": 2, "unit_price_minor": 450}]
    assert key["order_id"] == order["order_id"]


def test_a_retry_gets_the_same_bytes(client: FlaskClient, place: Place, rows: Rows) -> None:
    """Same key, same body: same answer, also when the order has moved on, and nothing is written."""
    body, headers = order_body(), order_headers("k-1")
    first = client.post("/orders", data=body, headers=headers)
    client.post(f"/orders/{first.json['order_id']}/cancel")  # type: ignore[index]
    again = client.post("/orders", data=body, headers=headers)
    assert (again.status_code, again.data, again.headers["Location"]) == (201, first.data, first.headers["Location"])
    assert again.headers["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in first.headers
    assert rows(COUNTS) == [{"orders": 1, "events": 2, "keys": 1}]


def test_another_body_under_the_same_key_is_refused(client: FlaskClient, rows: Rows) -> None:
    """A key that is used again by mistake must not swallow an order in silence."""
    client.post("/orders", data=order_body(), headers=order_headers("k-1"))
    other = client.post("/orders", data=order_body(currency="USD"), headers=order_headers("k-1"))
    assert other.status_code == 422
    assert other.json["type"] == "urn:problem-type:idempotency-key-reused"  # type: ignore[index]
    assert rows(COUNTS) == [{"orders": 1, "events": 1, "keys": 1}]


def test_a_key_belongs_to_its_customer(place: Place) -> None:
    """Two customers who happen to choose the same key have an order each."""
    assert place("k-1", customer_id="c-1") != place("k-1", customer_id="c-2")


@pytest.mark.parametrize("table", ["orders", "outbox", "idempotency_key"])
def test_a_failure_of_any_statement_leaves_nothing(client: FlaskClient, engine: Engine, rows: Rows, table: str) -> None:
    """Order, event and key are written together or not at all, and the key is free for the retry."""
    with trigger(engine, table, "RAISE EXCEPTION USING MESSAGE = 'no';"):
        failed = client.post("/orders", data=order_body(), headers=order_headers("k-1"))
    assert failed.status_code == 500
    assert rows(COUNTS) == [{"orders": 0, "events": 0, "keys": 0}]
    assert client.post("/orders", data=order_body(), headers=order_headers("k-1")).status_code == 201


@pytest.mark.parametrize("table", ["orders", "outbox"])
def test_a_failure_tells_the_log_nothing_of_the_customer(settings: ApiSettings, engine: Engine, table: str) -> None:
    """The error that is logged names the statement, not what it carried."""
    app = build_api(settings)
    with trigger(engine, table, "RAISE EXCEPTION USING MESSAGE = 'no';"), capture_logs() as lines:
        app.test_client().post("/orders", data=order_body(), headers=order_headers())
    [error] = [line["exc_info"] for line in lines if line["event"] == "request failed"]
    assert f"INSERT INTO {table}" in str(error)
    assert "ada" not in str(error)


def test_a_crash_after_the_commit_is_healed_by_the_retry(client: FlaskClient, rows: Rows) -> None:
    """The client heard nothing; its retry hears of the one order that there is."""
    failpoints.arm(_crash)
    try:
        assert client.post("/orders", data=order_body(), headers=order_headers("k-1")).status_code == 500
    finally:
        failpoints.disarm()
    [order] = rows("SELECT order_id FROM orders")
    again = client.post("/orders", data=order_body(), headers=order_headers("k-1"))
    assert again.json["order_id"] == str(order["order_id"])  # type: ignore[index]
    assert rows(COUNTS) == [{"orders": 1, "events": 1, "keys": 1}]


def _crash(point: Failpoint) -> None:
    assert point is Failpoint.ORDERS_AFTER_COMMIT_BEFORE_RESPONSE
    raise RuntimeError("the process ends here")


def test_a_second_request_waits_a_bounded_time_for_the_first(client: FlaskClient, engine: Engine, rows: Rows) -> None:
    """While the first is in flight the second neither doubles the order nor waits for ever: 409, try again."""
    with engine.connect() as first:
        assert tables.claim_key(first, "c-1", "k-1", b"", uuid4())
        response = client.post("/orders", data=order_body(), headers=order_headers("k-1"))
        assert response.status_code == 409
        assert response.json["type"] == "urn:problem-type:request-in-flight"  # type: ignore[index]
        assert int(response.headers["Retry-After"]) >= 1
        first.rollback()
    assert rows(COUNTS) == [{"orders": 0, "events": 0, "keys": 0}]


def test_a_second_request_gets_the_answer_of_the_first(settings: ApiSettings, engine: Engine, rows: Rows) -> None:
    """A duplicate that arrives while the first is being written waits, and then says the same."""
    app = build_api(replace(settings, wait_seconds=10, backlog_limit_seconds=0, backlog_limit_events=0), engine=engine)
    committing, go_on = threading.Event(), threading.Event()

    def send() -> TestResponse:
        return app.test_client().post("/orders", data=order_body(), headers=order_headers("k-1"))

    def hold(_connection: object) -> None:
        committing.set()
        assert go_on.wait(10)

    with ThreadPoolExecutor() as threads:
        event.listen(engine, "commit", hold, once=True)
        first = threads.submit(send)
        assert committing.wait(10)
        second = threads.submit(send)
        eventually(lambda: rows(WAITING)[0]["waiting"] == 1, describe="the second waits for the first's key")
        go_on.set()
        answers = [first.result(), second.result()]
    assert [answer.headers.get("Idempotency-Replayed") for answer in answers] == [None, "true"]
    assert answers[0].data == answers[1].data
    assert rows(COUNTS) == [{"orders": 1, "events": 1, "keys": 1}]


def test_a_second_request_takes_over_when_the_first_fails(settings: ApiSettings, engine: Engine, rows: Rows) -> None:
    """A first request that rolls back leaves the key, and the order, to the one that waited."""
    app = build_api(replace(settings, wait_seconds=10), engine=engine)
    with ThreadPoolExecutor() as threads, engine.connect() as first:
        tables.claim_key(first, "c-1", "k-1", b"", uuid4())
        second = threads.submit(app.test_client().post, "/orders", data=order_body(), headers=order_headers("k-1"))
        eventually(lambda: rows(WAITING)[0]["waiting"] == 1, describe="the second waits for the first's key")
        first.rollback()
        assert second.result().status_code == 201
    assert rows(COUNTS) == [{"orders": 1, "events": 1, "keys": 1}]


@pytest.fixture
def without_the_index(engine: Engine) -> Iterator[None]:
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE idempotency_key DROP CONSTRAINT idempotency_key_pkey"))
    yield
    with engine.begin() as connection:
        connection.execute(text("TRUNCATE idempotency_key"))
        connection.execute(text("ALTER TABLE idempotency_key ADD PRIMARY KEY (customer_id, key)"))


def test_keys_are_kept_by_the_index_alone(without_the_index: None, engine: Engine, rows: Rows) -> None:
    """Without it, two transactions that look before they insert both find nothing, and both go on."""
    with engine.connect() as one, engine.connect() as two:
        assert [_looks_free(one), _looks_free(two)] == [True, True]
        for connection in (one, two):
            order = tables.insert_order(connection, **ORDER, order_id=uuid4())
            connection.execute(
                tables.idempotency_key.insert(),
                {"customer_id": "c-1", "key": "k-1", "body_hash": b"", "order_id": order.order_id},
            )
            connection.commit()
    assert rows("SELECT count(*) AS doubled FROM idempotency_key GROUP BY customer_id, key") == [{"doubled": 2}]


def _looks_free(connection: Connection) -> bool:
    return (
        connection.execute(select(tables.idempotency_key).where(tables.idempotency_key.c.key == "k-1")).first() is None
    )
