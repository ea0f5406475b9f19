"""Ticks that overlap, workers beside each other, a tick that comes to nothing: the relay's promises hold."""

import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from infra.local.deployment import Deployment
from services.relay import worker
from services.relay.position import Row
from services.relay.settings import Settings
from services.relay.transports import Published
from tests.conftest import eventually
from tests.integration.engines.rows import add
from tests.integration.relay.recording import Log, RecordingTransport


@pytest.fixture
def settings(deployment: Deployment, kafka: str) -> Settings:
    return Settings(
        instance="relay-1",
        database_url=deployment.superuser_url("orders"),
        kafka_bootstrap_servers=kafka,
        relay_chunk_size=10,
    )


class Slow(RecordingTransport):
    """Holds the first chunk in hand until it may go on."""

    def __init__(self, log: Log) -> None:
        super().__init__(log, seed=1)
        self.holding, self.may_go_on = threading.Event(), threading.Event()

    def publish(self, rows: Sequence[Row], deadline_seconds: float) -> Published:
        self.holding.set()
        self.may_go_on.wait(20)
        return super().publish(rows, deadline_seconds)


def fill(database: psycopg.Connection, count: int = 100) -> None:
    for number in range(count):
        add(database, f"aggregate-{number % 20}", number // 20 + 1)


def test_a_tick_beside_one_that_has_a_chunk_in_hand_sends_nothing_again(
    settings: Settings, outbox: psycopg.Connection
) -> None:
    """Under a shared name it would take the other's lanes as its own, and send what that one has in hand."""
    fill(outbox)
    log = Log()
    slow = Slow(log)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(worker.drain, settings, {"event": slow})
        assert slow.holding.wait(20)
        assert worker.drain(settings, {"event": RecordingTransport(log, seed=2)}) == {}
        slow.may_go_on.set()
        assert first.result(30)["event"] == 100
    assert Counter(row.event_id for row in log.rows()).most_common(1)[0][1] == 1


def test_ticks_of_many_workers_publish_everything_in_order(settings: Settings, outbox: psycopg.Connection) -> None:
    """However they overlap, rows are published, and first copies stand in the order of versions."""
    fill(outbox)
    log = Log()

    def tick(number: int) -> None:
        worker.drain(settings, {"event": RecordingTransport(log, seed=number)})

    def drained() -> bool:
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(tick, range(6)))
        return len(log.event_ids()) == 100

    eventually(drained, 30, "every row is published")
    assert all(versions == sorted(versions) for versions in log.first_copies().values())


def test_a_tick_gives_its_lanes_back(settings: Settings, outbox: psycopg.Connection) -> None:
    """The next one has another name, and must not wait for a lease to end."""
    fill(outbox, 1)
    worker.drain(settings, {"event": RecordingTransport(Log(), seed=1)})
    query = "SELECT (SELECT count(owner) FROM relay_position), (SELECT count(*) FROM relay_member)"
    assert outbox.execute(query).fetchone() == (0, 0)
