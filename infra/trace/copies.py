"""The copies of an order's events in the log, wherever and however often they stand there."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from confluent_kafka import Consumer, Message, TopicPartition

from infra.kafka.reading import take
from infra.local.errors import StackError

_CLOCKS_APART = timedelta(seconds=5)
_TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Copy:
    topic: str
    partition: int
    offset: int
    event_id: str
    type: str
    version: str
    at: datetime


def find(bootstrap: str, topics: Iterable[str], order_id: str, since: datetime) -> list[Copy]:
    """Read every partition from shortly before ``since`` to its end and keep what bears the order's key."""
    reader = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "trace-without-a-group",
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    try:
        ends = dict(_ends(reader, topics, since - _CLOCKS_APART))
        reader.assign([TopicPartition(topic, number, start) for (topic, number), (start, _end) in ends.items()])
        return [copy for message in _read(reader, ends) if (copy := _copy(message, order_id)) is not None]
    finally:
        reader.close()


Ends = dict[tuple[str, int], tuple[int, int]]


def _ends(
    reader: Consumer, topics: Iterable[str], since: datetime
) -> Iterator[tuple[tuple[str, int], tuple[int, int]]]:
    known = reader.list_topics(timeout=_TIMEOUT_SECONDS).topics
    wanted = [
        TopicPartition(topic, number, int(since.timestamp() * 1000))
        for topic in topics
        if topic in known
        for number in known[topic].partitions
    ]
    for start in reader.offsets_for_times(wanted, timeout=_TIMEOUT_SECONDS) if wanted else ():
        _low, end = reader.get_watermark_offsets(TopicPartition(start.topic, start.partition), timeout=_TIMEOUT_SECONDS)
        if 0 <= start.offset < end:
            yield (start.topic, start.partition), (start.offset, end)


def _read(reader: Consumer, ends: Ends) -> Iterator[Message]:
    waiting = set(ends)
    while waiting:
        batch = take(reader, 500, _TIMEOUT_SECONDS)
        if not batch:
            raise StackError(
                f"The log gave no answer for {_TIMEOUT_SECONDS:.0f} s. `once status` shows whether Kafka runs."
            )
        for message in batch:
            place = (str(message.topic()), message.partition() or 0)
            if message.error() is None and place in waiting:
                yield message
                if (message.offset() or 0) + 1 >= ends[place][1]:
                    waiting.discard(place)


def _copy(message: Message, order_id: str) -> Copy | None:
    key = message.key()
    if key is None or (key if isinstance(key, str) else key.decode(errors="replace")) != order_id:
        return None
    headers = {name: _text(value) for name, value in _pairs(message)}
    _kind, milliseconds = message.timestamp()
    return Copy(
        topic=str(message.topic()),
        partition=message.partition() or 0,
        offset=message.offset() or 0,
        event_id=headers.get("ce_id", "?"),
        type=headers.get("ce_type", "?"),
        version=headers.get("ce_aggregateversion", "?"),
        at=datetime.fromtimestamp(milliseconds / 1000, UTC),
    )


def _pairs(message: Message) -> Iterable[tuple[str, str | bytes | None]]:
    headers = message.headers()
    return headers.items() if isinstance(headers, dict) else headers or ()


def _text(value: str | bytes | None) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value or ""
