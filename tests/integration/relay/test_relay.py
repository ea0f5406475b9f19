"""A relay on a real outbox: what is committed leaves, once its report is there, and a stop leaves nothing half done."""

import threading
from collections.abc import Sequence
from functools import partial

import pytest
from sqlalchemy import Engine, text

from services.relay.pace import Pace
from services.relay.position import Row
from services.relay.relay import Relay
from services.relay.transports import Published, Transport
from shared import database
from shared.errors import RefusedError
from shared.events import OrderConfirmed
from shared.outbox import Event, add, new_event
from tests.conftest import eventually
from tests.integration.relay.recording import Log, RecordingTransport


def event(aggregate_id: str, version: int) -> Event:
    return new_event(
        "order", aggregate_id, version, OrderConfirmed(order_id=aggregate_id, invoice_number="1"), source="/orders"
    )


def relay(url: str, transport: Transport, name: str = "relay-1", pace: Pace | None = None) -> Relay:
    return Relay(
        connect=partial(database.connect, url, None, name),
        transport=transport,
        destination="event",
        name=name,
        pace=pace or Pace(),
    )


def write(engine: Engine, *events: Event) -> None:
    with engine.begin() as connection:
        add(connection, *events)


class Broken(RecordingTransport):
    """A receiver that is away for its first attempts."""

    def __init__(self, log: Log, failures: int) -> None:
        super().__init__(log, seed=0)
        self.failures = failures

    def publish(self, rows: Sequence[Row], deadline_seconds: float) -> Published:
        if self.failures:
            self.failures -= 1
            return Published(0, "away")
        return super().publish(rows, deadline_seconds)


def test_a_breaker_closes_although_nothing_is_left_to_try(engine: Engine, outbox_url: str) -> None:
    """Another relay has sent what this one could not. Red without the question: it looks every 5 ms, for ever."""
    relaying = relay(outbox_url, RecordingTransport(Log(), 0))
    relaying.step()
    relaying._sender.breaker.trip()
    eventually(lambda: relaying.step() > 0.1 and not relaying._sender.breaker.is_open, 10, "the relay is idle again")


def test_the_breaker_of_a_relay_without_lanes_closes_too(engine: Engine, outbox_url: str) -> None:
    """Long before it may have lanes again. Red where only those with lanes ask."""
    relaying = relay(outbox_url, RecordingTransport(Log(), 0), pace=Pace(renew_seconds=5.0))
    relaying.step()
    assert relaying._session is not None
    for held in list(relaying._session.held):
        relaying._session.drop(held)
    relaying._sender.breaker.trip()
    eventually(lambda: relaying.step() > 0.1 and not relaying._sender.breaker.is_open, 3, "the relay is idle again")


def test_what_is_committed_leaves_once(engine: Engine, outbox_url: str) -> None:
    """A drain publishes all of it, the next drain nothing."""
    log = Log()
    write(engine, *[event("order-1", version) for version in range(1, 11)])
    relaying = relay(outbox_url, RecordingTransport(log, 0), pace=Pace(chunk_size=3))
    assert relaying.drain_once() == 10
    assert relaying.drain_once() == 0
    assert [row.aggregate_version for row in log.rows()] == list(range(1, 11))


def test_a_drain_goes_on_behind_a_pass_that_ends_empty(engine: Engine, outbox_url: str) -> None:
    """A pass taken over half-way may have nothing left; what was written since is drained all the same."""
    log = Log()
    relay(outbox_url, RecordingTransport(log, 0)).drain_once()
    with engine.begin() as connection:
        connection.execute(text("UPDATE relay_position SET target = done, target_floor = floor_id"))
    write(engine, event("order-1", 1))
    assert relay(outbox_url, RecordingTransport(log, 0)).drain_once() == 1


def test_a_transaction_that_commits_late_is_not_jumped_over(engine: Engine, outbox_url: str) -> None:
    """Its ids are lower than those already published."""
    log = Log()
    relaying = relay(outbox_url, RecordingTransport(log, 0))
    with engine.connect() as slow, slow.begin() as transaction:
        add(slow, event("slow", 1))
        write(engine, event("quick", 1))
        assert relaying.drain_once() == 1
        write(engine, event("quick", 2))
        assert relaying.drain_once() == 1
        transaction.commit()
    assert relaying.drain_once() == 1
    assert [row.aggregate_id for row in log.rows()] == ["quick", "quick", "slow"]


def test_what_is_rolled_back_never_leaves(engine: Engine, outbox_url: str) -> None:
    """Order and event share one fate."""
    log = Log()
    with engine.connect() as connection, connection.begin() as transaction:
        add(connection, event("order-1", 1))
        transaction.rollback()
    assert relay(outbox_url, RecordingTransport(log, 0)).drain_once() == 0


def test_a_second_relay_goes_on_where_the_first_settled(engine: Engine, outbox_url: str) -> None:
    """A stop settles and gives the lanes back; the next relay publishes only what is new."""
    first, second, stop = Log(), Log(), threading.Event()
    write(engine, event("order-1", 1))
    running = relay(outbox_url, RecordingTransport(first, 0), "a")
    thread = threading.Thread(target=running.run, args=(stop,))
    thread.start()
    eventually(lambda: len(first.rows()) == 1, 10, "the first relay publishes")
    stop.set()
    thread.join()
    write(engine, event("order-1", 2))
    assert relay(outbox_url, RecordingTransport(second, 0), "b").drain_once() == 1
    assert [row.aggregate_version for row in second.rows()] == [2]


def test_a_receiver_that_is_away_is_waited_for(engine: Engine, outbox_url: str) -> None:
    """Nothing counts as done before its report, and nothing is lost to any number of failures."""
    log, stop = Log(), threading.Event()
    write(engine, event("order-1", 1), event("order-1", 2))
    thread = threading.Thread(target=relay(outbox_url, Broken(log, failures=5)).run, args=(stop,))
    thread.start()
    eventually(lambda: len(log.rows()) == 2, 20, "the events leave once the receiver is back")
    stop.set()
    thread.join()
    assert [row.aggregate_version for row in log.rows()] == [1, 2]


def test_an_idle_relay_writes_no_position(engine: Engine, outbox_url: str) -> None:
    """Other traffic on the server moves the snapshot at every poll; that alone is not worth a write."""
    relaying = relay(outbox_url, RecordingTransport(Log(), 0))
    relaying.step()
    with engine.connect() as connection:
        before = connection.execute(text("SELECT array_agg(xmin::text) FROM relay_position")).scalar_one()
    for _ in range(5):
        with engine.begin() as connection:
            connection.execute(text("SELECT pg_current_xact_id()"))
        relaying.step()
    with engine.connect() as connection:
        after = connection.execute(text("SELECT array_agg(xmin::text) FROM relay_position")).scalar_one()
    assert before == after


def test_positions_of_another_cluster_stop_the_relay_with_words(engine: Engine, outbox_url: str) -> None:
    """A restored dump must not lose or hold events in silence."""
    with engine.begin() as connection:
        connection.execute(text("UPDATE relay_position SET system_identifier = '1'"))
    with pytest.raises(RefusedError, match="written in cluster 1"):
        relay(outbox_url, RecordingTransport(Log(), 0)).drain_once()


def test_rows_from_another_cluster_stop_the_relay_with_words(engine: Engine, outbox_url: str) -> None:
    """A transaction that this cluster has not reached cannot have written a row here."""
    write(engine, event("order-1", 1))
    with engine.begin() as connection:
        connection.execute(text("UPDATE outbox SET xid = '999999999'"))
    with pytest.raises(RefusedError, match="transaction 999999999"):
        relay(outbox_url, RecordingTransport(Log(), 0)).drain_once()
