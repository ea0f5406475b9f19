"""One rival consumer as a process: it consumes so many events, notes how far it was when, and prints its marks.

    BENCH_RIVAL=ours BENCH_EVENTS=20000 BENCH_SECONDS=30 python -m chaos.bench.member

All rivals run billing's real handler on billing's real tables. They differ in one thing each: how large a transaction
is, how the inbox decides, or whether there is one.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import psutil
from confluent_kafka import OFFSET_BEGINNING, TopicPartition
from confluent_kafka import Consumer as KafkaConsumer
from sqlalchemy import Connection, text

from chaos.bench.pace import Mark
from chaos.unsafe.billing_without_inbox import NoInbox
from services.billing import numbers, wiring
from services.billing.settings import Settings
from shared import envelope, events, logs
from shared.inbox import DatabaseInbox, Delivery, Inbox
from shared.receiving import headers_of
from shared.settings import read

NAME = "billing"
"""The consumer's name in the inbox: the same in every round, though its Kafka group is new each time."""


class LookFirst:
    """An inbox that looks before it inserts, event by event: a race between members, and many round trips."""

    def new(self, connection: Connection, batch: Sequence[Delivery]) -> list[Delivery]:
        return [delivery for delivery in batch if self._is_new(connection, delivery)]

    def _is_new(self, connection: Connection, delivery: Delivery) -> bool:
        key = {"consumer": NAME, "event_id": delivery.envelope.event_id}
        seen = text("SELECT 1 FROM inbox WHERE consumer = :consumer AND event_id = :event_id")
        if connection.execute(seen, key).first():
            return False
        DatabaseInbox(NAME).new(connection, [delivery])
        return True

    def forget(self, connection: Connection, deliveries: Sequence[Delivery]) -> None:
        DatabaseInbox(NAME).forget(connection, deliveries)


class Counted:
    """Passes on what an inbox says, and notes how many events have come by when."""

    def __init__(self, inbox: Inbox, wanted: int, seconds: float, stop: threading.Event) -> None:
        self._inbox = inbox
        self._wanted = wanted
        self._ends = time.monotonic() + seconds
        self._stop = stop
        self.marks: list[Mark] = []
        self.most_memory_bytes = 0
        self.sizes: list[tuple[int, int]] = []
        """How large the process was after each tenth."""

    def new(self, connection: Connection, batch: Sequence[Delivery]) -> list[Delivery]:
        self.count(len(batch))
        return self._inbox.new(connection, batch)

    def forget(self, connection: Connection, deliveries: Sequence[Delivery]) -> None:
        self._inbox.forget(connection, deliveries)

    def count(self, more: int) -> None:
        done = more + (self.marks[-1][1] if self.marks else 0)
        self.marks.append((time.monotonic(), done))
        size = psutil.Process().memory_info().rss
        self.most_memory_bytes = max(self.most_memory_bytes, size)
        if done * 10 >= self._wanted * (len(self.sizes) + 1):
            self.sizes.append((done, size))
        if done >= self._wanted or time.monotonic() > self._ends:
            self._stop.set()


def ours(settings: Settings, counted: Callable[[Inbox], Counted], stop: threading.Event) -> Counted:
    return _billing(settings, counted(DatabaseInbox(NAME)), stop)


def one_by_one(settings: Settings, counted: Callable[[Inbox], Counted], stop: threading.Event) -> Counted:
    """A transaction, and an offset commit, per message."""
    return _billing(replace(settings, batch_size=1), counted(DatabaseInbox(NAME)), stop)


def look_first(settings: Settings, counted: Callable[[Inbox], Counted], stop: threading.Event) -> Counted:
    return _billing(settings, counted(LookFirst()), stop)


def no_inbox(settings: Settings, counted: Callable[[Inbox], Counted], stop: threading.Event) -> Counted:
    return _billing(settings, counted(NoInbox()), stop)


def decode_only(settings: Settings, counted: Callable[[Inbox], Counted], stop: threading.Event) -> Counted:
    """The limit of a consumer in this language: receive, read headers and payload, and forget."""
    count, kafka = counted(NoInbox()), wiring.build_kafka_consumer(settings)
    kafka.subscribe([settings.orders_topic], on_assign=_from_the_start)
    while not stop.is_set():
        messages = kafka.consume(settings.batch_size, 0.5)
        for message in messages:
            event = envelope.from_message(headers_of(message), message.value())
            events.decode(event.type, event.payload)
        count.count(len(messages))
    kafka.close()
    return count


def _from_the_start(kafka: KafkaConsumer, partitions: list[TopicPartition]) -> None:
    kafka.incremental_assign([TopicPartition(each.topic, each.partition, OFFSET_BEGINNING) for each in partitions])


def _billing(settings: Settings, counted: Counted, stop: threading.Event) -> Counted:
    wiring.build(settings, inbox=counted).run(stop)
    return counted


def own_series(settings: Settings, counted: Callable[[Inbox], Counted], stop: threading.Event) -> Counted:
    """Ours, but invoices are numbered within this member: what waiting for each other's numbers costs."""
    vars(numbers)["INVOICES"] = settings.instance.upper()
    return ours(settings, counted, stop)


RIVALS: Mapping[str, Callable[..., Counted]] = {
    "ours": ours,
    "one-by-one": one_by_one,
    "look-first": look_first,
    "no-inbox": no_inbox,
    "decode-only": decode_only,
    "own-series": own_series,
}


def main() -> None:
    settings, stop = read(Settings, os.environ), threading.Event()
    logs.configure(settings.instance, settings.log_level)
    wanted, seconds = int(os.environ["BENCH_EVENTS"]), float(os.environ["BENCH_SECONDS"])
    made: list[Counted] = []

    def counted(inbox: Inbox) -> Counted:
        made.append(Counted(inbox, wanted, seconds, stop))
        return made[-1]

    # Also when nothing comes at all.
    limit = threading.Timer(seconds, stop.set)
    limit.daemon = True
    limit.start()
    found = RIVALS[os.environ["BENCH_RIVAL"]](settings, counted, stop)
    json.dump({"marks": found.marks, "memory_bytes": found.most_memory_bytes, "sizes": found.sizes}, sys.stdout)


if __name__ == "__main__":
    main()
