"""The read model is built again while orders keep coming, and equals what orders' and billing's databases say."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psutil
import psycopg
import pytest
from confluent_kafka import Producer

from infra.local.errors import StackError
from infra.replay.group import Group
from infra.replay.rebuild import rebuild
from tests.conftest import eventually
from tests.e2e.conftest import System

pytestmark = pytest.mark.timeout(400)

Figures = dict[str, Any]


def kafka(system: System) -> str:
    return system.deployment._stack.servers.kafka


def live(system: System) -> Group:
    return Group(system.deployment, kafka(system), "analytics")


def said(_line: str) -> None:
    """Report nothing."""


@contextmanager
def orders_coming(system: System) -> Iterator[None]:
    """Place orders from two clients for as long as the block lasts."""
    stop = threading.Event()

    def place() -> None:
        while not stop.is_set():
            system.place()
            stop.wait(0.2)

    clients = [threading.Thread(target=place) for _number in range(2)]
    for client in clients:
        client.start()
    try:
        yield
    finally:
        stop.set()
        for client in clients:
            client.join()


def model(system: System) -> Figures:
    """What analytics says."""
    return {
        "revenue": system.rows("analytics", "SELECT * FROM revenue ORDER BY day, currency"),
        "states": system.rows("analytics", "SELECT * FROM orders_by_state WHERE orders > 0 ORDER BY state"),
        "days": system.rows("analytics", "SELECT * FROM orders_by_day WHERE orders > 0 ORDER BY day, currency, state"),
        "skus": system.rows("analytics", "SELECT * FROM ordered_skus ORDER BY currency, sku"),
    }


def recomputed(system: System) -> Figures:
    """What it should say, by the databases where the facts are."""
    return {
        "revenue": system.rows(
            "billing",
            "SELECT day, currency, sum(invoices)::bigint AS invoices, sum(amount_minor)::bigint AS amount_minor, "
            "sum(credited_minor)::bigint AS credited_minor FROM ("
            "SELECT issued_at::date AS day, currency, 1 AS invoices, amount_minor, 0 AS credited_minor FROM invoice "
            "UNION ALL SELECT issued_at::date, currency, 0, 0, amount_minor FROM credit_note) AS papers "
            "GROUP BY day, currency ORDER BY day, currency",
        ),
        "states": system.rows("orders", "SELECT state, count(*) AS orders FROM orders GROUP BY state ORDER BY state"),
        "days": system.rows(
            "orders",
            "SELECT placed_at::date AS day, currency, state, count(*) AS orders FROM orders "
            "GROUP BY day, currency, state ORDER BY day, currency, state",
        ),
        "skus": system.rows(
            "orders",
            "SELECT currency, line->>'sku' AS sku, count(DISTINCT order_id) AS orders, "
            "sum((line->>'quantity')::bigint)::bigint AS quantity, "
            "sum((line->>'quantity')::bigint * (line->>'unit_price_minor')::bigint)::bigint AS amount_minor "
            "FROM orders, jsonb_array_elements(lines) AS line GROUP BY currency, sku ORDER BY currency, sku",
        ),
    }


def is_right(system: System) -> bool:
    found = model(system)
    return found == recomputed(system) and bool(found["revenue"])


def spoil(system: System) -> None:
    """Make the live model wrong, so that only a new one can be right."""
    eventually(lambda: model(system)["revenue"], 60, "a first invoice counted")
    system.rows("analytics", "UPDATE revenue SET amount_minor = amount_minor + 1 RETURNING 1")


def leftovers(system: System) -> list[str]:
    found = system.rows("analytics", "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'rebuild%%'")
    return [row["nspname"] for row in found]


def member_runs(system: System) -> bool:
    return system.deployment.pid("analytics-1") is not None


def test_a_model_rebuilt_under_load_equals_a_recomputation(system: System) -> None:
    with orders_coming(system):
        spoil(system)
        done = rebuild(system.deployment, kafka(system), said)
        assert done.events > 0
    eventually(lambda: is_right(system), 90, lambda: (model(system), recomputed(system)))
    assert leftovers(system) == []
    known = system.rows("analytics", "SELECT count(*) AS n FROM inbox")[0]["n"]
    written = sum(
        system.rows(service, "SELECT count(*) AS n FROM outbox WHERE destination = 'event'")[0]["n"]
        for service in ("orders", "billing")
    )
    assert known == written


def test_what_the_live_version_had_committed_is_waited_for(system: System) -> None:
    """The new version's consumer stands still while the live one goes on: near is not enough."""
    late: list[str] = []
    wake: list[threading.Timer] = []

    def report(line: str) -> None:
        if line.startswith("Stopping") and not late:
            (follower,) = followers()
            follower.suspend()
            wake.append(threading.Timer(8.0, follower.resume))
            late.extend(str(system.place()["order_id"]) for _number in range(3))
            eventually(lambda: counted(system, late) == 3, 30, "the live version with the late orders")
            wake[0].start()

    rebuild(system.deployment, kafka(system), report)
    assert counted(system, late) == 3


def followers() -> list[psutil.Process]:
    """The rebuild's consumer: the child of ours that analytics' code runs in."""
    return [child for child in psutil.Process().children() if "services.analytics" in child.cmdline()]


def counted(system: System, order_ids: list[str]) -> int:
    return len(system.rows("analytics", "SELECT 1 FROM order_state WHERE order_id::text = ANY(%s)", order_ids))


def test_the_parking_lot_of_the_new_version_is_the_live_consumers(system: System) -> None:
    """Poison is parked again under the live consumer's name, and what a person has given up stays so."""
    topic = system.deployment.topics["ORDERS_TOPIC"]
    producer = Producer({"bootstrap.servers": kafka(system)})
    for key in ("given-up", "waits"):
        producer.produce(topic, b"?", key, headers=[("ce_id", b"no id")])
    producer.flush(30)

    def entries() -> list[dict[str, Any]]:
        return system.rows("analytics", "SELECT consumer, state, discarded_reason FROM inbox_parked ORDER BY key")

    eventually(lambda: len(entries()) == 2, 60, "parked poison")
    system.rows(
        "analytics",
        "UPDATE inbox_parked SET state = 'discarded', discarded_reason = 'broken', discarded_at = now() "
        "WHERE key = 'given-up' RETURNING 1",
    )
    before = entries()
    rebuild(system.deployment, kafka(system), said)
    assert entries() == before
    assert [entry["consumer"] for entry in before] == [live(system).name] * 2


def test_roles_can_do_in_the_new_version_what_they_could_in_the_old(system: System) -> None:
    def rights() -> list[dict[str, Any]]:
        return system.rows(
            "analytics",
            "SELECT table_name, grantee, privilege_type FROM information_schema.role_table_grants "
            "WHERE table_schema = 'public' AND table_name !~ '[0-9]{8}|default' ORDER BY 1, 2, 3",
        )

    before = rights()
    rebuild(system.deployment, kafka(system), said)
    assert rights() == before
    assert system.get("analytics-api", "/revenue")["revenue"]
    # Days can still be made and dropped.
    assert system.rows("analytics", "SELECT inbox_make_days(current_date + 30, current_date + 30) AS made")


class Cut(Exception):
    """The rebuild is interrupted."""


def cut_at(step: int) -> Callable[[str], None]:
    seen: list[str] = []

    def report(line: str) -> None:
        seen.append(line)
        if len(seen) == step:
            raise Cut(line)

    return report


def one_in_the_default_suite(last: object, *others: object) -> list[Any]:
    return [last, *(pytest.param(other, marks=pytest.mark.full) for other in others)]


@pytest.mark.parametrize("step", one_in_the_default_suite(5, 1, 2, 3, 4))
def test_a_rebuild_cut_short_leaves_the_live_version_untouched(system: System, step: int) -> None:
    system.place()
    eventually(lambda: is_right(system), 60, "a quiet model")
    before = model(system)
    with pytest.raises(Cut):
        rebuild(system.deployment, kafka(system), cut_at(step))
    assert model(system) == before
    assert leftovers(system) == []
    assert member_runs(system)
    system.place()
    eventually(lambda: is_right(system), 60, "the live version going on")


_PROGRAM = """
import sys
from pathlib import Path
from infra.local.stack import LocalStack
from infra.replay.rebuild import rebuild
stack = LocalStack.open()
rebuild(stack.deployment(sys.argv[1], Path(sys.argv[2])), stack.servers.kafka, lambda line: print(line, flush=True))
"""


@pytest.mark.parametrize("line", one_in_the_default_suite("Putting the new", "Reading all", "Waiting until"))
def test_a_killed_rebuild_leaves_the_live_version_and_a_second_call_cleans_up(system: System, line: str) -> None:
    deployment = system.deployment
    with orders_coming(system):
        process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, deployment.namespace, str(deployment.directory)],
            stdout=subprocess.PIPE,
            text=True,
            env=dict(os.environ),
        )
        assert process.stdout is not None
        for told in process.stdout:
            if told.startswith(line):
                process.send_signal(signal.SIGKILL)
                break
        process.wait()
        deployment.start()  # `once up`: the members may have been stopped at that moment
        spoil(system)
        rebuild(deployment, kafka(system), said)
    assert leftovers(system) == []
    eventually(lambda: is_right(system), 90, lambda: (model(system), recomputed(system)))


def test_a_second_rebuild_at_the_same_time_is_refused(system: System) -> None:
    with psycopg.connect(system.deployment.superuser_url("analytics"), autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(%s)", [0x0CE_0B1D])
        with pytest.raises(StackError, match="Another rebuild is at work here"):
            rebuild(system.deployment, kafka(system), said)


def test_a_consumer_that_ends_is_told_with_its_last_words(system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = system.deployment.environment
    monkeypatch.setattr(
        type(system.deployment), "environment", lambda _self, name: {**environment(name), "BATCH_SIZE": "none"}
    )
    with pytest.raises(StackError, match=r"old one stays live: ConfigurationError: .*BATCH_SIZE"):
        rebuild(system.deployment, kafka(system), said)
    monkeypatch.undo()
    assert leftovers(system) == []
