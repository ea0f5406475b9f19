"""From commit to consumer at a steady trickle: one process writes events and hears them again from the log.

Both ends are in one process, so both times are by one clock. The writer waits for its own pace, never for the answer.
For our relay it says after each commit that there is something, as every service does; Debezium has no use for it.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from statistics import median, quantiles
from subprocess import PIPE
from uuid import UUID, uuid4

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
from sqlalchemy import Engine

from chaos.bench import backlog, debezium, stopwatch
from chaos.bench.place import Place
from chaos.bench.rounds import Rates, Rival
from infra.kafka.topics import PARTITIONS
from shared import outbox
from shared.database import connect, create_engine, transaction
from shared.events import OrderConfirmed
from shared.leaving import leave
from shared.wakeup import Wakeup

OURS, DEBEZIUM = "our relay", "Debezium, tuned for latency"
LEFT_OUT_SECONDS = 2.0
"""The beginning, in which processes start and connect."""


@dataclass(frozen=True, slots=True)
class Latency:
    """In milliseconds."""

    p50: float
    p99: float


@dataclass(slots=True)
class Latencies:
    """The rivals. A round's rate is its median; the 99th percentile is kept beside it."""

    place: Place
    connect: debezium.Rival
    rate: float
    seconds: float
    p99: Rates = field(default_factory=lambda: {OURS: [], DEBEZIUM: []})

    def rivals(self) -> list[Rival]:
        return [
            Rival(OURS, lambda: self._keep(OURS, self._ours())),
            Rival(DEBEZIUM, lambda: self._keep(DEBEZIUM, self._debezium())),
        ]

    def _keep(self, rival: str, found: Latency) -> float:
        self.p99[rival].append(found.p99)
        return found.p50

    def _ours(self) -> Latency:
        with self.place.connect("orders") as connection:
            backlog.fill(connection, 0)
        topic = self.place.new_topic()
        environment = self.place.environment("relay-orders-1", {"ORDERS_TOPIC": topic})
        with self.place.running(["services.relay"], [environment]):
            return hear(self.place, topic, self.rate, self.seconds, wake=True)

    def _debezium(self) -> Latency:
        topic = self.place.new_topic()
        self.connect.make_slot(debezium.LATENCY)
        with self.connect.streaming(debezium.LATENCY, topic):
            return hear(self.place, topic, self.rate, self.seconds)


def hear(place: Place, topic: str, rate: float, seconds: float, *, wake: bool = False) -> Latency:
    """Write and hear at this rate, while somebody relays to the topic. ``wake``: the writer tells of its commits."""
    environment = place.environment(
        "orders-api",
        {"ORDERS_TOPIC": topic, "BENCH_RATE": str(rate), "BENCH_SECONDS": str(seconds), "BENCH_WAKE": str(int(wake))},
    )
    with place.running(["chaos.bench.latency"], [environment], stdout=PIPE) as (child,):
        assert child.stdout is not None
        return Latency(**json.load(child.stdout))


def main() -> None:
    rate, seconds = float(os.environ["BENCH_RATE"]), float(os.environ["BENCH_SECONDS"])
    access = (os.environ["DATABASE_URL"], os.environ["DATABASE_PASSWORD_FILE"], "bench-writer")
    engine = create_engine(*access, 1)
    wake = Wakeup(partial(connect, *access)).wake if os.environ["BENCH_WAKE"] == "1" else _tell_nobody
    committed: dict[bytes, float] = {}
    writer = threading.Thread(target=partial(_write, engine, wake, rate, seconds, committed))
    heard = _hear(os.environ["ORDERS_TOPIC"], writer, committed)
    taken = sorted(1000 * (heard[event] - at) for event, at in committed.items() if event in heard)
    json.dump({"p50": median(taken), "p99": quantiles(taken, n=100)[-1]}, sys.stdout)


def _write(
    engine: Engine, wake: Callable[[], None], rate: float, seconds: float, committed: dict[bytes, float]
) -> None:
    begun = time.monotonic()
    for number in range(round(rate * seconds)):
        time.sleep(max(0.0, begun + number / rate - time.monotonic()))
        event_id = _write_one(engine)
        if time.monotonic() - begun > LEFT_OUT_SECONDS:
            committed[str(event_id).encode()] = time.monotonic()
        wake()


def _tell_nobody() -> None:
    """Leave it to the log of changes."""


def _write_one(engine: Engine) -> UUID:
    order_id = str(uuid4())
    event = outbox.new_event(
        "order", order_id, 1, OrderConfirmed(order_id=order_id, invoice_number="-"), source="/bench"
    )
    with transaction(engine) as connection:
        outbox.add(connection, event)
    return event.event_id


def _hear(topic: str, writer: threading.Thread, committed: dict[bytes, float]) -> dict[bytes, float]:
    consumer = Consumer(
        {
            "bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"],
            "group.id": "bench",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 500,
        }
    )
    consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(PARTITIONS)])
    writer.start()
    heard: dict[bytes, float] = {}
    ended: float | None = None
    while ended is None or (len(heard) < len(committed) and time.monotonic() < ended + 5):
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            heard.setdefault(stopwatch.event_id(message), time.monotonic())
        if ended is None and not writer.is_alive():
            ended = time.monotonic()
    leave(consumer)
    return heard


if __name__ == "__main__":
    main()
