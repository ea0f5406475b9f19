"""Look at what a replay would deliver: read it from the log, and ask the inbox which of it is known.

The inbox is asked by event id and not by offset: a republished copy stands at an offset that the inbox never saw, and
is known all the same. Nothing is written; the log is read by a client without a group.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from gettext import gettext as _
from typing import Final
from uuid import UUID

import psycopg
from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from infra.kafka.committed import Place
from infra.kafka.reading import take
from infra.local.errors import StackError
from infra.replay.places import Stretch
from shared.dedup_window import DedupWindow, own_time

BATCH: Final = 5_000
SILENT_SECONDS: Final = 30.0
"""For how long the log may say nothing before it is taken for away."""

# An event is in the inbox or in its parking lot, never in both; either way a copy of it changes nothing.
_KNOWN: Final = """
SELECT event_id FROM inbox WHERE consumer = %(consumer)s AND event_id = ANY(%(ids)s)
UNION ALL SELECT event_id FROM inbox_parked WHERE consumer = %(consumer)s AND event_id = ANY(%(ids)s)
"""


@dataclass(slots=True)
class Again:
    """What would be delivered again of one partition, in events."""

    begin: int
    end: int
    events: int = 0
    known: int = 0
    """Of them, those that the inbox or its lot knows: they would change nothing."""
    nameless: int = 0
    """Without an id that can be read: parked before, and parked again."""
    beyond: int = 0
    """Older than the window of the inbox."""
    oldest: datetime | None = None
    unknown: Counter[str] = field(default_factory=Counter)
    """By type, inside of the window: they would have their effect."""
    forgotten: Counter[str] = field(default_factory=Counter)
    """By type, beyond the window: the inbox does not know them, or not any more."""


def look(
    kafka: str, database_url: str, consumer: str, stretches: Sequence[Stretch], window: DedupWindow, now: datetime
) -> dict[Place, Again]:
    """Count the events of each stretch. Raises StackError when the log does not answer."""
    found = {each.place: Again(each.begin, each.end) for each in stretches}
    with psycopg.connect(database_url, autocommit=True) as database:
        for batch in _batches(kafka, [each for each in stretches if each.begin < each.end]):
            _count(database, consumer, batch, found, window, now)
    return found


def _count(
    database: psycopg.Connection[tuple[object, ...]],
    consumer: str,
    batch: Sequence[Message],
    found: Mapping[Place, Again],
    window: DedupWindow,
    now: datetime,
) -> None:
    named = [(message, _event_id(message)) for message in batch]
    ids = [event_id for _message, event_id in named if event_id is not None]
    known = {row[0] for row in database.execute(_KNOWN, {"consumer": consumer, "ids": ids})}
    for message, event_id in named:
        again = found[str(message.topic()), int(message.partition() or 0)]
        again.events += 1
        if event_id is None:
            again.nameless += 1
            continue
        made_at, beyond = own_time(event_id), window.is_beyond(event_id, now)
        again.oldest = min(filter(None, (again.oldest, made_at)), default=None)
        again.beyond += beyond
        if event_id in known:
            again.known += 1
        else:
            (again.forgotten if beyond else again.unknown)[_header(message, "ce_type") or "?"] += 1


def _batches(kafka: str, stretches: Sequence[Stretch]) -> Iterator[list[Message]]:
    """Read the stretches, each up to its end."""
    if not stretches:
        return
    settings = {
        "bootstrap.servers": kafka,
        "group.id": "once-replay",  # the client wants a name; it joins no group and commits nothing
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "log_level": 0,
    }
    consumer = Consumer(settings)
    ends = {each.place: each.end for each in stretches}
    try:
        consumer.assign([TopicPartition(*each.place, each.begin) for each in stretches])
        heard = time.monotonic()
        while ends:
            messages = take(consumer, BATCH, 0.5)
            if messages:
                heard = time.monotonic()
            elif time.monotonic() - heard > SILENT_SECONDS:
                raise StackError(_("The log does not answer. See that Kafka runs (`once status`), and try again."))
            if wanted := [message for message in messages if _is_wanted(message, ends)]:
                yield wanted
            for place in [place for place in ends if _is_through(consumer, place, ends[place], messages)]:
                del ends[place]
                consumer.pause([TopicPartition(*place)])
    finally:
        consumer.close()


def _is_wanted(message: Message, ends: Mapping[Place, int]) -> bool:
    end = ends.get((str(message.topic()), int(message.partition() or 0)))
    return message.error() is None and end is not None and int(message.offset() or 0) < end


def _is_through(consumer: Consumer, place: Place, end: int, messages: Sequence[Message]) -> bool:
    """Tell whether a partition has been read up to there: by position, or because the log ends before it."""
    if any(_ends(message, place) for message in messages):
        return True
    (position,) = consumer.position([TopicPartition(*place)])
    return bool(position.offset >= end)


def _ends(message: Message, place: Place) -> bool:
    error = message.error()
    return (
        error is not None
        and error.code() == KafkaError._PARTITION_EOF
        and (message.topic(), message.partition()) == place
    )


def _event_id(message: Message) -> UUID | None:
    try:
        return UUID(_header(message, "ce_id") or "")
    except ValueError:
        return None


def _header(message: Message, wanted: str) -> str | None:
    headers = message.headers() or []
    for name, value in headers.items() if isinstance(headers, dict) else headers:
        if name == wanted and value is not None:
            return value if isinstance(value, str) else value.decode(errors="replace")
    return None
