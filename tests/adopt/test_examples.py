"""The examples answer as the order service does: the same requests, the same members, the same refusals.

One contract for both, over HTTP, on a database that the order service's own migrations made.
"""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from services.orders.openapi import document
from tests.adopt.frameworks import needs
from tests.conftest import DatabaseFactory, eventually
from tests.integration.notifications.processes import Process, free_port

ORDER = {
    "customer_id": "ada",
    "email": "ada@example.org",
    "currency": "EUR",
    "lines": [{"sku": "coffee-1kg", "quantity": 2, "unit_price_minor": 1_250}],
}


@dataclass
class Api:
    port: int
    database: str

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, Any, Any]:
        url = f"http://127.0.0.1:{self.port}{path}"
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(url, body, {"Content-Type": "application/json", **headers}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, json.loads(answer.read()), answer.headers
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read()), error.headers

    def place(self, key: str, **other: object) -> tuple[int, Any, Any]:
        return self.ask("POST", "/orders", json.dumps({**ORDER, **other}).encode(), Idempotency_Key=key)

    def told(self) -> list[tuple[str, int]]:
        with psycopg.connect(self.database) as connection:
            return connection.execute("SELECT type, aggregate_version FROM outbox ORDER BY id").fetchall()


@pytest.fixture(params=[pytest.param(name, marks=needs(name)) for name in ("django", "fastapi")])
def api(request: pytest.FixtureRequest, postgres_url: DatabaseFactory, tmp_path: Path) -> Iterator[Api]:
    url, port = postgres_url(of="orders"), free_port()
    environment = {"DATABASE_URL": url, "HTTP_PORT": str(port), "INSTANCE": "orders-api"}
    process = Process((f"examples.orders_in_{request.param}",), environment, tmp_path / "log")
    process.start()
    api = Api(port, url.replace("+psycopg", ""))
    try:
        eventually(lambda: api.ask("GET", "/readyz")[0] == 200, 30, process.log.read_text)
        yield api
    finally:
        assert process.running is not None
        process.running.kill()
        process.running.wait(30)


def test_an_example_answers_as_the_service_does(api: Api) -> None:
    """Placed once per key, shown, cancelled once; each change is told in its turn, and no refusal is told."""
    schemas, key = document()["components"]["schemas"], str(uuid4())
    status, placed, _ = api.place(key)
    assert (status, placed.keys()) == (201, set(schemas["Receipt"]["required"]))
    assert placed["amount_minor"] == 2_500
    status, again, headers = api.place(key)
    assert (status, again, headers["Idempotency-Replayed"]) == (201, placed, "true")
    assert api.place(key, customer_id="ada", email="bob@example.org")[0] == 422
    assert api.place(str(uuid4()), lines="none")[0] == 422
    path = f"/orders/{placed['order_id']}"
    status, shown, _ = api.ask("GET", path)
    assert (status, shown.keys(), shown["state"]) == (200, set(schemas["OrderView"]["required"]), "placed")
    status, cancelled, _ = api.ask("POST", f"{path}/cancel", b"{}")
    assert (status, cancelled["state"], cancelled["version"]) == (200, "cancelled", 2)
    assert api.ask("POST", f"{path}/cancel", b"{}")[0] == 409
    assert api.ask("GET", f"/orders/{uuid4()}")[0] == 404
    assert api.told() == [("OrderPlaced", 1), ("OrderCancelled", 2)]
