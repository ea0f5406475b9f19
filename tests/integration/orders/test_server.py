"""The real server, as the stack starts it: concurrency, bodies without a length, a clean end."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any
from uuid import uuid4

import psutil
import pytest
from sqlalchemy import Engine, text

from tests.conftest import eventually
from tests.integration.orders.examples import Rows, order_body, order_headers, trigger

Answer = tuple[int, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Server:
    process: subprocess.Popen[bytes]
    port: int

    def request(self, method: str, path: str, **options: Any) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request(method, path, **options)
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    def place(self, key: str | None = None) -> Answer:
        return self.request("POST", "/orders", body=order_body(), headers=order_headers(key))


@contextmanager
def serving(database_url: str, folder: Path, **changes: str) -> Iterator[Server]:
    (folder / "token").write_text("test-token")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    environment = {
        **os.environ,
        "DATABASE_URL": database_url,
        "HTTP_PORT": str(port),
        "ADMIN_TOKEN_FILE": str(folder / "token"),
        "LOG_LEVEL": "WARNING",
        **changes,
    }
    process = subprocess.Popen([sys.executable, "-m", "services.orders", "api"], env=environment)
    try:
        server = Server(process, port)
        eventually(lambda: server.request("GET", "/readyz")[0] == 200, 20, describe="orders is ready")
        yield server
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture(scope="module")
def shared_server(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(database_url, tmp_path_factory.mktemp("orders")) as server:
        yield server


@pytest.fixture
def server(shared_server: Server, engine: Engine) -> Server:
    """Return the server over a database that has been emptied."""
    return shared_server


def test_each_key_sent_three_times_at_once_makes_one_order(server: Server, rows: Rows) -> None:
    """100 orders, 16 threads, 3 requests for each key: 100 orders, 100 events, and one answer for each key."""
    keys = [str(uuid4()) for _ in range(100)]

    def send(key: str) -> tuple[str, int, str]:
        status, answer = server.place(key)
        return key, status, answer.get("order_id", "")

    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(send, [key for key in keys for _ in range(3)]))
    assert {status for _, status, _ in answers} == {201}
    assert len({(key, order_id) for key, _, order_id in answers}) == 100
    assert rows("SELECT count(*), count(DISTINCT order_id) AS orders FROM orders") == [{"count": 100, "orders": 100}]
    assert rows("SELECT count(*), count(DISTINCT aggregate_id) AS orders FROM outbox") == [
        {"count": 100, "orders": 100}
    ]


def test_a_chunked_body_over_the_limit_is_a_413(server: Server, rows: Rows) -> None:
    """Also where the client is still sending: it hears why, and nothing is written."""
    padding = (b" " * 10_000 for _ in range(500))
    headers = order_headers()
    status, answer = server.request("POST", "/orders", body=padding, headers=headers, encode_chunked=True)
    assert (status, answer["status"]) == (413, 413)
    status, answer = server.request("POST", "/orders", body=order_body() + b" " * 1_000_000, headers=headers)
    assert (status, answer["status"]) == (413, 413)
    assert rows("SELECT * FROM orders") == []


BROKEN = [
    b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
    b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}{}\r\n0\r\n\r\n",
    b"Transfer-Encoding: chunked\r\n\r\n9\r\n{}",
    b"Transfer-Encoding: chunked\r\n\r\n20000\r\n" + b" " * 70_000,
    b"Content-Length: 9\r\n\r\n{}",
    b"Content-Length: -9\r\n\r\n{}",
    b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    b"Bad Name: x\r\n\r\n",
]


@pytest.mark.parametrize("rest", BROKEN)
def test_broken_http_is_the_clients_fault(server: Server, rest: bytes) -> None:
    """Half a body, a broken chunk, a length that cannot be: 4xx, never 500, and the server goes on."""
    head = b"POST /orders HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nIdempotency-Key: k\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as client:
        client.sendall(head + rest)
        client.shutdown(socket.SHUT_WR)
        status = client.recv(65_536).split(b" ")[1]
    assert status.startswith(b"4")


def test_an_order_survives_the_loss_of_every_connection(server: Server, engine: Engine) -> None:
    """A restarted database costs a retry at most; the pool finds out by itself which connections are gone."""
    assert server.place()[0] == 201
    with engine.connect() as connection:
        connection.execute(
            text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'orders-api'")
        )
    assert server.place()[0] == 201


def test_sigterm_finishes_the_request_in_hand_and_ends_with_0(
    database_url: str, engine: Engine, rows: Rows, tmp_path: Path
) -> None:
    """What has begun is answered; then the process ends as one that was asked to."""
    waiting = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'orders-api' AND wait_event = 'PgSleep'"
    with (
        serving(database_url, tmp_path) as server,
        ThreadPoolExecutor() as threads,
        trigger(engine, "outbox", "PERFORM pg_sleep(1); RETURN NEW;"),
    ):
        answer = threads.submit(server.place)
        eventually(lambda: rows(waiting), describe="the order is being written")
        server.process.send_signal(signal.SIGTERM)
        assert answer.result()[0] == 201
        assert server.process.wait(15) == 0


SLOW_TO_BEGIN_SECONDS = 3.0
NOTE_EACH_BEGINNING = """
import os, time
again = os.path.exists({file!r})
with open({file!r}, "a") as notes:
    notes.write(f"{{os.getpid()}}\\n")
if again:
    time.sleep({seconds})
"""
"""Python imports it whenever an interpreter starts; a fork starts none."""


def test_sighup_begins_anew_and_lets_nobody_wait(database_url: str, engine: Engine, tmp_path: Path) -> None:
    """The same process, started again from the code on the disk, which takes long, while customers come all the time.

    Red with gunicorn's own SIGHUP, whose master stays what it was, red with a stop and a start, which refuses, and red
    when the workers of before end first: customers then wait for as long as the code takes to start.
    """
    note = NOTE_EACH_BEGINNING.format(file=str(tmp_path / "begun"), seconds=SLOW_TO_BEGIN_SECONDS)
    (tmp_path / "sitecustomize.py").write_text(note)
    path = f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    with serving(database_url, tmp_path, PYTHONPATH=path) as server, ThreadPoolExecutor(4) as threads:
        before, enough = _workers(server), threading.Event()
        answers = [threads.submit(_keep_placing, server, enough) for _ in range(4)]
        server.process.send_signal(signal.SIGHUP)
        try:
            eventually(lambda: (now := _workers(server)) and not now & before, 20, "other workers")
            eventually(lambda: server.place()[0] == 201, 10, "the new ones answer")
        finally:
            enough.set()
        statuses, longest = zip(*(each.result() for each in answers), strict=True)
        assert set().union(*statuses) == {201}
        assert max(longest) < SLOW_TO_BEGIN_SECONDS
        assert (tmp_path / "begun").read_text().split() == [str(server.process.pid)] * 2


def _workers(server: Server) -> set[int]:
    return {child.pid for child in psutil.Process(server.process.pid).children()}


def _keep_placing(server: Server, enough: threading.Event) -> tuple[set[int], float]:
    """Return the statuses, and how long the slowest answer took, in seconds."""
    statuses, longest = set(), 0.0
    while not enough.is_set():
        begun = monotonic()
        statuses.add(server.place()[0])
        longest = max(longest, monotonic() - begun)
    return statuses, longest


def test_a_killed_server_leaves_its_port_to_the_next(database_url: str, engine: Engine, tmp_path: Path) -> None:
    """Its worker goes with it, also while clients keep their connections open."""
    with serving(database_url, tmp_path) as killed:
        connection = http.client.HTTPConnection("127.0.0.1", killed.port, timeout=10)
        connection.request("GET", "/healthz")
        connection.getresponse().read()
        killed.process.kill()
        killed.process.wait(10)
        eventually(lambda: _is_free(killed.port), 2, describe="the port is free")
        connection.close()


def _is_free(port: int) -> bool:
    with socket.socket() as attempt:
        attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        attempt.bind(("127.0.0.1", port))
        attempt.listen()
    return True
