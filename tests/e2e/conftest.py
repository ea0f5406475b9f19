"""A whole system of its own for the tests of a module, and a way to run a scenario and have it judged."""

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.rows import dict_row

from chaos import scenarios, unsafe
from chaos.adopted import ORDERS
from chaos.checker.verdict import Verdict, judge, to_text
from chaos.run import perform
from chaos.watcher import Silent
from infra.local.deployment import Deployment
from infra.local.stack import LocalStack

RunScenario = Callable[..., Verdict]


@dataclass(frozen=True)
class System:
    """One copy of the system, seen from outside: HTTP, its databases read only, its mailbox."""

    deployment: Deployment

    def post(self, path: str, body: object, **headers: str) -> tuple[int, dict[str, Any]]:
        request = urllib.request.Request(
            self.deployment.url("orders-api") + path,
            json.dumps(body).encode(),
            {"Content-Type": "application/json", **headers},
        )
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def get(self, process: str, path: str) -> Any:
        with urllib.request.urlopen(self.deployment.url(process) + path, timeout=20) as answer:
            return json.loads(answer.read())

    def place(self, *, price_minor: int = 1_250, key: str | None = None) -> dict[str, Any]:
        status, order = self.post("/orders", an_order(price_minor), **{"Idempotency-Key": key or str(uuid4())})
        assert status == 201, order
        return order

    def order(self, order_id: str) -> dict[str, Any]:
        order: dict[str, Any] = self.get("orders-api", f"/orders/{order_id}")
        return order

    def rows(self, database: str, query: str, *parameters: object) -> list[dict[str, Any]]:
        url = self.deployment.superuser_url(database)
        with psycopg.connect(url, autocommit=True, row_factory=dict_row) as connection:
            return connection.execute(query.encode(), parameters).fetchall()

    def mails(self, order_id: str) -> list[dict[str, Any]]:
        if not self.deployment.mail_journal.exists():
            return []
        lines = self.deployment.mail_journal.read_text().splitlines()
        return [mail for mail in map(json.loads, lines) if mail["order_id"] == order_id]


def an_order(price_minor: int = 1_250) -> dict[str, Any]:
    return {
        "customer_id": "0c057000-0000-4000-8000-000000000001",
        "email": "ada@example.com",
        "currency": "EUR",
        "lines": [{"sku": "coffee-1kg", "quantity": 2, "unit_price_minor": price_minor}],
    }


@pytest.fixture(scope="module")
def system(stack: LocalStack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """Return a running system, its databases empty; destroyed after the module."""
    name = f"e2e-{uuid4().hex[:6]}"
    deployment = stack.deployment(name, Path(tmp_path_factory.mktemp(name)))
    try:
        deployment.prepare()
        deployment.start()
        yield System(deployment)
    finally:
        deployment.destroy()


@pytest.fixture
def run_scenario(stack: LocalStack) -> RunScenario:
    """Return a function that runs a scenario, shortened, and returns the judge's verdict on it."""

    def run(
        name: str,
        *,
        seconds: float,
        rate: float = 25.0,
        without: str | None = None,
        orders: str | None = None,
        seed: int = 7,
    ) -> Verdict:
        scenario = scenarios.load(name)
        workload = replace(scenario.workload, seconds=seconds, rate_per_second=rate)
        finished = perform(
            replace(scenario, workload=workload),
            watcher=Silent(),
            seed=seed,
            variant=unsafe.load(without) if without else ORDERS[orders] if orders else None,
            stack=stack,
        )
        verdict = judge(finished.evidence)
        print(to_text(verdict), finished.problems)  # noqa: T201 - shown by pytest when the test fails
        return verdict

    return run
