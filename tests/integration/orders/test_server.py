"""The real server, as the stack starts it: concurrency, bodies without a length, a clean end."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import Engine, text

from tests.conftest import eventually
from tests.integration.orders.examples import Rows, order_body, order_headers, trigger

Request = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture
def request_(port: int) -> Request:
    def send(method: str, path: str, **options: Any) -> tuple[int, dict[str, Any]]:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        try:
            connection.request(method, path, **options)
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    return send


@pytest.fixture
def server(
    database_url: str, engine: Engine, port: int, request_: Request, tmp_path: Path
) -> Iterator[subprocess.Popen[bytes]]:
    (tmp_path / "token").write_text("test-token")
    environment = {
        **os.environ,
        "DATABASE_URL": database_url,
        "HTTP_PORT": str(port),
        "ADMIN_TOKEN_FILE": str(tmp_path / "token"),
        "LOG_LEVEL": "WARNING",
    }
    process = subprocess.Popen([sys.executable, "-m", "services.orders", "api"], env=environment)
    try:
        eventually(lambda: request_("GET", "/readyz")[0] == 200, describe="orders is ready")
        yield process
    finally:
        process.terminate()
        process.wait(20)


def test_each_key_sent_three_times_at_once_makes_one_order(
    server: subprocess.Popen[bytes], request_: Request, rows: Rows
) -> None:
    """100 orders, 16 threads, 3 requests for each key: 100 orders, 100 events, and one answer for each key."""
    keys = [str(uuid4()) for _ in range(100)]

    def send(key: str) -> tuple[str, int, str]:
        status, answer = request_("POST", "/orders", body=order_body(), headers=order_headers(key))
        return key, status, answer.get("order_id", "")

    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(send, [key for key in keys for _ in range(3)]))
    assert {status for _, status, _ in answers} == {201}
    assert len({(key, order_id) for key, _, order_id in answers}) == 100
    assert rows("SELECT count(*), count(DISTINCT order_id) AS orders FROM orders") == [{"count": 100, "orders": 100}]
    assert rows("SELECT count(*), count(DISTINCT aggregate_id) AS orders FROM outbox") == [
        {"count": 100, "orders": 100}
    ]


def test_a_chunked_body_over_the_limit_is_a_413(server: subprocess.Popen[bytes], request_: Request, rows: Rows) -> None:
    """Also where the client is still sending: it hears why, and nothing is written."""
    padding = (b" " * 10_000 for _ in range(500))
    headers = order_headers()
    status, answer = request_("POST", "/orders", body=padding, headers=headers, encode_chunked=True)
    assert (status, answer["status"]) == (413, 413)
    status, answer = request_("POST", "/orders", body=order_body() + b" " * 1_000_000, headers=headers)
    assert (status, answer["status"]) == (413, 413)
    assert rows("SELECT * FROM orders") == []


def test_an_order_survives_the_loss_of_every_connection(
    server: subprocess.Popen[bytes], request_: Request, engine: Engine
) -> None:
    """A restarted database costs a retry at most; the pool finds out by itself which connections are gone."""

    def place() -> bool:
        return request_("POST", "/orders", body=order_body(), headers=order_headers())[0] == 201

    assert place()
    with engine.connect() as connection:
        connection.execute(
            text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'orders-api'")
        )
    assert place()


def test_sigterm_finishes_the_request_in_hand_and_ends_with_0(
    server: subprocess.Popen[bytes], request_: Request, engine: Engine, rows: Rows
) -> None:
    """What has begun is answered; then the process ends as one that was asked to."""
    waiting = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'orders-api' AND wait_event = 'PgSleep'"
    with ThreadPoolExecutor() as threads, trigger(engine, "outbox", "PERFORM pg_sleep(1); RETURN NEW;"):
        answer = threads.submit(request_, "POST", "/orders", body=order_body(), headers=order_headers())
        eventually(lambda: rows(waiting), describe="the order is being written")
        server.send_signal(signal.SIGTERM)
        assert answer.result()[0] == 201
        assert server.wait(15) == 0
