"""Poison at a shop's pace: nobody else waits for it."""

import random
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Producer
from sqlalchemy import Engine, text

from shared.envelope import to_headers
from shared.events import OrderPlaced
from shared.kafka import producer_config
from tests.conftest import TopicFactory, eventually
from tests.integration.billing.members import crew
from tests.integration.billing.orders import deliver, placed, rows

SECONDS = 20
PER_SECOND = 200
SHARE_POISONED = 0.01
BOUND_SECONDS = 1.0

_LATELY = text("SELECT event_id::text FROM inbox WHERE applied_at > clock_timestamp() - interval '5 seconds'")


@dataclass
class Watch:
    """When each event stood in the log, and when its effect could be seen, by this process's clock."""

    arrived: dict[str, float] = field(default_factory=dict)
    seen: dict[str, float] = field(default_factory=dict)
    longest_pause: float = 0.0
    """Between two looks: what a busy machine has taken from everybody."""

    def look(self, engine: Engine, stop: threading.Event) -> None:
        before = time.monotonic()
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            while not stop.wait(0.02):
                found = list(connection.execute(_LATELY).scalars())
                now = time.monotonic()
                self.longest_pause = max(self.longest_pause, now - before)
                before = now
                for event_id in found:
                    self.seen.setdefault(event_id, now)

    def waits(self) -> list[float]:
        return sorted(self.seen[event_id] - at for event_id, at in self.arrived.items())


def orders(rng: random.Random) -> Iterator[tuple[OrderPlaced, str]]:
    """Yield orders with what is to be wrong with them; `again` is one that is billed, under another event's id."""
    before = placed()
    yield before, ""
    while True:
        kind = rng.choice(["bytes", "type", "again"]) if rng.random() < SHARE_POISONED else ""
        order = before if kind == "again" else placed()
        yield order, kind
        before = order if not kind else before


def produce(producer: Producer, topic: str, order: OrderPlaced, kind: str, watch: Watch) -> None:
    (delivery,) = deliver(order)
    event = delivery.envelope
    headers = dict(to_headers(event)) | ({"ce_type": b"OrderEaten"} if kind == "type" else {})

    def reported(error: object, _message: object) -> None:
        assert error is None
        if not kind:
            watch.arrived[str(event.event_id)] = time.monotonic()

    value = b"{broken" if kind == "bytes" else event.payload
    producer.produce(topic, value, order.order_id, headers=headers, on_delivery=reported)
    producer.poll(0)


@pytest.mark.full
@pytest.mark.timeout(180)
@pytest.mark.parametrize("protocol", ["consumer", "classic"])
def test_healthy_events_are_applied_within_a_second_among_poison(
    engine: Engine, database_url: str, kafka: str, topic: TopicFactory, tmp_path: Path, protocol: str
) -> None:
    """200 events a second, of which one in a hundred can never be applied: by its bytes, its type, or a constraint.

    A second, and what a busy machine takes from the watcher too. Seen red: with a pause of two seconds for each parked
    delivery.
    """
    watch, stop, poison = Watch(), threading.Event(), 0
    producer = Producer({**producer_config(kafka, "test"), "linger.ms": 0})
    stream = orders(random.Random(7))
    with crew(database_url, kafka, topic(12), protocol, tmp_path) as members:
        members.start("billing-1")
        produce(producer, members.topic, *next(stream), Watch())
        eventually(lambda: producer.flush(1) == 0 and rows(engine, "SELECT 1 FROM inbox"), 40, "the member works")
        watcher = threading.Thread(target=watch.look, args=(engine, stop))
        watcher.start()
        begun = time.monotonic()
        for number in range(SECONDS * PER_SECOND):
            while (early := begun + number / PER_SECOND - time.monotonic()) > 0:
                producer.poll(early)
            order, kind = next(stream)
            produce(producer, members.topic, order, kind, watch)
            poison += bool(kind)
        assert producer.flush(20) == 0
        everything = partial(set.issubset, set(watch.arrived), watch.seen)
        eventually(everything, 30, lambda: len(watch.seen))
        eventually(lambda: rows(engine, "SELECT count(*) FROM inbox_parked") == [(poison,)], 20, str(poison))
        stop.set()
        watcher.join()
        assert members.end("billing-1") == 0
    waits = watch.waits()
    print(f"{protocol}: {len(waits)} healthy, {poison} parked, median {waits[len(waits) // 2]:.3f} s, "  # noqa: T201
          f"longest {waits[-1]:.3f} s, longest pause of the watcher {watch.longest_pause:.3f} s")  # fmt: skip
    assert poison >= SECONDS
    assert waits[-1] < BOUND_SECONDS + watch.longest_pause
