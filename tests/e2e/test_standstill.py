"""How long work stands still when a process is killed and nobody is told."""

import os
import signal
import threading
from uuid import uuid4

import pytest

from tests.conftest import eventually
from tests.e2e.conftest import System, an_order

pytestmark = [pytest.mark.full, pytest.mark.timeout(120)]

STANDSTILL_SECONDS = 8.0


def keep_ordering(system: System, stop: threading.Event, placed: list[str]) -> None:
    while not stop.wait(0.05):
        status, order = system.post("/orders", an_order(), **{"Idempotency-Key": str(uuid4())})
        if status == 201:
            placed.append(order["order_id"])


def test_a_killed_members_partitions_stand_still_for_eight_seconds_at_most(system: System) -> None:
    """The broker's session timeout of six seconds, and the hand-over. Every order is invoiced within that time."""
    placed: list[str] = []
    stop = threading.Event()
    customers = threading.Thread(target=keep_ordering, args=(system, stop, placed))
    customers.start()
    try:
        eventually(lambda: len(placed) > 40, 30, "orders flow")
        pid = system.deployment.pid("billing-1")
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        before = len(placed)
        eventually(lambda: len(placed) > before + 200, 60, "orders go on flowing")
    finally:
        stop.set()
        customers.join()
    eventually(lambda: len(invoiced_at(system)) >= len(placed), 30, "every order is invoiced")
    written, invoiced = written_at(system), invoiced_at(system)
    assert max(invoiced[order] - written[order] for order in placed) <= STANDSTILL_SECONDS


def written_at(system: System) -> dict[str, float]:
    query = """
    SELECT aggregate_id AS order_id, extract(epoch FROM occurred_at)::float8 AS at
    FROM outbox WHERE type = 'OrderPlaced'
    """
    return {row["order_id"]: row["at"] for row in system.rows("orders", query)}


def invoiced_at(system: System) -> dict[str, float]:
    query = "SELECT order_id::text, extract(epoch FROM applied_at)::float8 AS at FROM invoice"
    return {row["order_id"]: row["at"] for row in system.rows("billing", query)}
