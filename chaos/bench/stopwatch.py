"""The log as stopwatch: topics stamped by the broker when it appends, so every rival is timed by the same clock.

What a relay says of itself is not asked. Its rate is what arrived, and what arrived is counted by event id.
"""

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Message, TopicPartition

from chaos.bench.pace import Mark, middle_rate
from infra.kafka.marks import Marks
from infra.kafka.reading import take
from infra.kafka.topics import PARTITIONS, ensure_topics

PATIENCE_SECONDS = 30


@dataclass(slots=True)
class Arrivals:
    """What a topic holds: how many, how many different, and when they came."""

    count: int = 0
    events: set[bytes] = field(default_factory=set)
    stamps: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Events per second over the middle 60 %."""
        return middle_rate(self.marks())

    def marks(self) -> list[Mark]:
        return [(stamp, number) for number, stamp in enumerate(sorted(self.stamps), start=1)]

    def after(self, first: int) -> "Arrivals":
        """What came behind the first so many."""
        return Arrivals(self.count - first, self.events, sorted(self.stamps)[first:])

    def take(self, message: Message) -> None:
        self.count += 1
        self.events.add(event_id(message))
        self.stamps.append(message.timestamp()[1] / 1000)


def event_id(message: Message) -> bytes:
    """Return the ``ce_id`` of a message. Raises KeyError for a message that is none of ours."""
    value = dict(message.headers() or ())["ce_id"]
    assert isinstance(value, bytes)
    return value


def make_topic(kafka: str, name: str, partitions: int = PARTITIONS) -> None:
    """Make a topic whose messages carry the time at which the broker appended them."""
    ensure_topics(kafka, [name], partitions, message_timestamp_type="LogAppendTime")


def wait_for(kafka: str, topic: str, count: int, seconds: float) -> bool:
    """Wait until so many events have arrived, by the end offsets. Returns whether they did in time."""
    marks = Marks(kafka)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        # A fresh topic's leader may not know yet that it leads.
        with suppress(KafkaException):
            if sum(marks.ends(marks.partitions([topic])).values()) >= count:
                return True
        time.sleep(0.1)
    return False


def read(kafka: str, topic: str) -> Arrivals:
    """Read the topic from its beginning to its present end."""
    arrivals = Arrivals()
    for message in messages(kafka, topic):
        arrivals.take(message)
    return arrivals


def messages(kafka: str, topic: str) -> Iterator[Message]:
    """Yield what the topic holds now, partition by partition mixed, without a group."""
    consumer = Consumer({"bootstrap.servers": kafka, "group.id": "bench", "enable.auto.commit": False})
    try:
        left = _ends(consumer, topic)
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in left])
        deadline = time.monotonic() + PATIENCE_SECONDS
        while left and time.monotonic() < deadline:
            for message in take(consumer, 1_000, 0.2):
                if message.error() is None:
                    yield message
                    _tick_off(left, message)
    finally:
        consumer.close()


def _ends(consumer: Consumer, topic: str) -> dict[int, int]:
    """Return the last offset of every partition that is not empty."""
    marks = {n: consumer.get_watermark_offsets(TopicPartition(topic, n), timeout=10) for n in range(PARTITIONS)}
    return {number: high - 1 for number, (low, high) in marks.items() if high > low}


def _tick_off(left: dict[int, int], message: Message) -> None:
    partition, offset = message.partition(), message.offset()
    assert partition is not None
    assert offset is not None
    if partition in left and offset >= left[partition]:
        del left[partition]
