"""Customers on the orders API, at a constant rate: ``locust --headless -f loadtests/locustfile.py --host URL``.

    LOAD_RATE      orders that begin per second (default 50)
    LOAD_SECONDS   how long orders begin (default 60)
    LOAD_JOURNAL   file to write every attempt to (default: none)
    LOAD_SEED      the same seed plans the same orders (default 1); keys are fresh in every run

Arrivals are open: each order begins at its own moment, however slow the answers to earlier ones are. Reported times are
of single requests. An answer that is missing or says "later" counts as a failure and is asked for again under the same
key, as a customer would. Exits 1 after any failure; under faults give ``--exit-code-on-error 0`` and judge the journal.
"""

import itertools
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import gevent  # type: ignore[import-untyped]
from gevent.pool import Group  # type: ignore[import-untyped]
from locust import FastHttpUser, LoadTestShape, constant, task

from loadtests.journal import Intent, Journal, Result, result_of
from loadtests.profiles import Shopping, shopping

RATE = float(os.environ.get("LOAD_RATE", "50"))
SECONDS = float(os.environ.get("LOAD_SECONDS", "60"))
SEED = int(os.environ.get("LOAD_SEED", "1"))
JOURNAL = Journal(Path(path) if (path := os.environ.get("LOAD_JOURNAL")) else None)

PATIENCE_SECONDS = 60.0
ANSWER_WITHIN_SECONDS = 10.0


class Gates(LoadTestShape):
    """One user lets customers in; the run ends when all of them have what they came for."""

    def tick(self) -> tuple[int, float] | None:
        return None if Street.closed else (1, 1.0)


class Street(FastHttpUser):
    """Lets in a customer at each beat of the rate. Not a crowd of users who wait for each other's answers."""

    wait_time = constant(0)
    network_timeout = ANSWER_WITHIN_SECONDS
    connection_timeout = ANSWER_WITHIN_SECONDS
    concurrency = 512
    closed = False

    @task
    def open(self) -> None:
        customers, opened = Group(), time.monotonic()
        for number in itertools.takewhile(lambda n: n < RATE * SECONDS, itertools.count()):
            gevent.sleep(max(0.0, opened + number / RATE - time.monotonic()))
            customers.start(gevent.Greenlet(self._visit, shopping(SEED, number), f"load-{number:06d}"))
        customers.join()
        Street.closed = True
        gevent.sleep(PATIENCE_SECONDS)

    def _visit(self, visit: Shopping, reference: str) -> None:
        place = Intent(
            op="place",
            key=str(uuid4()),
            customer_id=visit.customer_id,
            order_ref=reference,
            order_id=None,
            currency=visit.currency,
            amount_minor=visit.amount_minor,
            expect=visit.outcome,
        )
        answers = self._place(place, visit)
        if not (order_id := next((answer for answer in answers if answer), None)):
            return
        if visit.cancelled_after_seconds is not None:
            gevent.sleep(visit.cancelled_after_seconds)
            self._cancel(place, order_id)
        if visit.read:
            self._read(order_id, visit.amount_minor)

    def _place(self, intent: Intent, visit: Shopping) -> list[str | None]:
        """Return the order id that each copy of the request was answered with. Copies leave at once."""
        body, headers = json.dumps(visit.body), {"Idempotency-Key": str(intent.key)}
        copies = [
            gevent.spawn(self._insist, intent, "/orders", "POST /orders", body, headers)
            for _ in range(2 if visit.sent_twice else 1)
        ]
        gevent.joinall(copies)
        return [copy.value for copy in copies]

    def _cancel(self, place: Intent, order_id: str) -> None:
        intent = Intent(
            op="cancel",
            key=None,
            customer_id=place.customer_id,
            order_ref=place.order_ref,
            order_id=order_id,
            currency=place.currency,
            amount_minor=place.amount_minor,
            expect="cancelled",
        )
        self._insist(intent, f"/orders/{order_id}/cancel", "POST /orders/{id}/cancel", "{}", {})

    def _read(self, order_id: str, amount_minor: int) -> None:
        with self.client.get(f"/orders/{order_id}", name="GET /orders/{id}", catch_response=True) as response:
            if response.status_code == 200 and response.json()["amount_minor"] != amount_minor:
                response.failure("the order has another amount")

    def _insist(self, intent: Intent, path: str, name: str, body: str, headers: Mapping[str, str]) -> str | None:
        """Ask until the answer is definite or patience ends; return the order's id when it was done."""
        deadline, pause = time.monotonic() + PATIENCE_SECONDS, 0.2
        while True:
            result, order_id = self._attempt(intent, path, name, body, headers)
            if result != "info" or time.monotonic() > deadline:
                return order_id
            gevent.sleep(pause)
            pause = min(pause * 2, 2.0)

    def _attempt(
        self, intent: Intent, path: str, name: str, body: str, headers: Mapping[str, str]
    ) -> tuple[Result, str | None]:
        begun = JOURNAL.begin(intent)
        sent = {"Content-Type": "application/json", **headers}
        with self.client.post(path, data=body, headers=sent, name=name, catch_response=True) as response:
            result = result_of(response.status_code, intent.op)
            answer: dict[str, Any] = response.json() if result == "ok" else {}
            if result == "ok" and answer["amount_minor"] != intent.amount_minor:
                response.failure("the order has another amount")
            elif result == "fail" and intent.op == "cancel" and response.status_code == 409:
                response.success()  # billing was faster and declined the order
            replayed = (response.headers or {}).get("Idempotency-Replayed") == "true"
        JOURNAL.end(begun, result, response.status_code, answer.get("order_id"), replayed)
        return result, answer.get("order_id")
