"""How far consumer groups are behind the log, in messages and in seconds.

Seconds are the age of the oldest message that a group has not committed, by the broker's clock. A group that has
committed nothing on a partition counts from that partition's first message.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec

from infra.kafka.committed import committed
from infra.kafka.topics import admin

_TIMEOUT_SECONDS = 5


@dataclass(frozen=True, slots=True)
class Lag:
    messages: int
    seconds: float
    members: int


def lags(bootstrap: str, groups: Mapping[str, Sequence[str]]) -> dict[str, Lag]:
    """Return the lag of each group on its topics."""
    client = admin(bootstrap)
    partitions = {topic: _partitions(client, topic) for topics in groups.values() for topic in topics}
    ends = _offsets(client, [each for known in partitions.values() for each in known], OffsetSpec.latest())  # type: ignore[no-untyped-call]
    return {
        group: _lag(client, bootstrap, group, [each for topic in topics for each in partitions[topic]], ends)
        for group, topics in groups.items()
    }


def _lag(
    client: AdminClient,
    bootstrap: str,
    group: str,
    partitions: Sequence[TopicPartition],
    ends: Mapping[tuple[str, int], int],
) -> Lag:
    known = committed(bootstrap, group, [(p.topic, p.partition) for p in partitions], _TIMEOUT_SECONDS)
    offsets = {key: offset or 0 for key, offset in known.items()}
    behind = {key: ends[key] - offset for key, offset in offsets.items() if ends.get(key, 0) > offset}
    first = [TopicPartition(topic, number, offsets[topic, number]) for topic, number in behind]
    members = len(client.describe_consumer_groups([group], request_timeout=_TIMEOUT_SECONDS)[group].result().members)
    return Lag(sum(behind.values()), _oldest_age(bootstrap, first), members)


def _partitions(client: AdminClient, topic: str) -> list[TopicPartition]:
    found = client.list_topics(topic, timeout=_TIMEOUT_SECONDS).topics[topic]
    return [TopicPartition(topic, number) for number in found.partitions]


def _offsets(client: AdminClient, partitions: Iterable[TopicPartition], spec: OffsetSpec) -> dict[tuple[str, int], int]:
    answers = client.list_offsets(dict.fromkeys(partitions, spec), request_timeout=_TIMEOUT_SECONDS)
    return {(each.topic, each.partition): answer.result().offset for each, answer in answers.items()}


def _oldest_age(bootstrap: str, positions: Sequence[TopicPartition]) -> float:
    """Read one message at each position and return the age of the oldest; 0 when there is none."""
    if not positions:
        return 0.0
    settings = {"bootstrap.servers": bootstrap, "group.id": "once-status", "enable.auto.commit": False, "log_level": 3}
    consumer = Consumer(settings)
    try:
        consumer.assign(list(positions))
        times = list(_first_times(consumer, len(positions)))
    finally:
        consumer.close()
    return max(0.0, time.time() - min(times) / 1000) if times else 0.0


def _first_times(consumer: Consumer, partitions: int) -> Iterable[int]:
    seen: set[tuple[str, int]] = set()
    end = time.monotonic() + _TIMEOUT_SECONDS
    while len(seen) < partitions and time.monotonic() < end:
        message = consumer.poll(0.2)
        if message is None or message.error():
            continue
        key = (str(message.topic()), int(message.partition() or 0))
        if key not in seen:
            seen.add(key)
            consumer.pause([TopicPartition(*key)])
            yield int(message.timestamp()[1])
