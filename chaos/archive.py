"""Everything that ever stood in the log, copied while it is written.

Reads every partition from before the first order, without belonging to a group: it commits nothing and no rebalance
touches it. A scan at the end would not do: it cannot see what retention, a deleted topic or an unclean election has
taken away meanwhile. Uses the Kafka client directly, not the services' code, so that a mistake in their envelope cannot
hide itself here.
"""

import contextlib
import hashlib
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Message, TopicPartition

from chaos.history import LogRecord
from chaos.journal import Journal

POLL_SECONDS = 0.1
BATCH = 500
LOOK_FOR_PARTITIONS_SECONDS = 2.0
"""Partitions that appear while a run goes on are read from their start."""


class Archiver:
    """A thread that tails the topics of one run into ``log.jsonl`` until it is stopped."""

    def __init__(self, kafka: str, topics: Mapping[str, str], path: Path) -> None:
        """``topics``: name on the broker → plain name, under which it is written down."""
        self._topics = topics
        self._journal = Journal[LogRecord](path)
        self._consumer = Consumer(
            {
                "bootstrap.servers": kafka,
                "group.id": "archive-without-a-group",
                "enable.auto.commit": False,
                "enable.partition.eof": False,
                "auto.offset.reset": "error",
                "fetch.wait.max.ms": 100,
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            }
        )
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="archiver", daemon=True)
        self._read: dict[tuple[str, int], int] = {}
        self.copies = 0
        self.events: set[str] = set()
        self.failure: BaseException | None = None

    def start(self) -> None:
        """Take up position at the start of every partition; then read in the background."""
        assignment = self._partitions()
        self._read = {(partition.topic, partition.partition): 0 for partition in assignment}
        self._consumer.assign(assignment)
        self._thread.start()

    def _partitions(self) -> list[TopicPartition]:
        known = self._consumer.list_topics(timeout=10.0).topics
        there = [topic for topic in self._topics if topic in known]
        places = [(topic, number) for topic in there for number in known[topic].partitions]
        return [TopicPartition(topic, number, OFFSET_BEGINNING) for topic, number in places]

    def _run(self) -> None:
        try:
            look_at = time.monotonic() + LOOK_FOR_PARTITIONS_SECONDS
            while not self._stop.is_set():
                self._keep(self._consumer.consume(BATCH, POLL_SECONDS))
                if time.monotonic() > look_at:
                    self._follow_new_partitions()
                    look_at = time.monotonic() + LOOK_FOR_PARTITIONS_SECONDS
        except Exception as error:  # noqa: BLE001 - handed to the run, which must not judge an archive with a hole
            self.failure = error

    def _follow_new_partitions(self) -> None:
        with contextlib.suppress(KafkaException):  # the broker is away: asked again
            new = [each for each in self._partitions() if (each.topic, each.partition) not in self._read]
            if new:
                self._consumer.incremental_assign(new)
                self._read |= {(each.topic, each.partition): 0 for each in new}

    def _keep(self, messages: Sequence[Message]) -> None:
        for message in messages:
            if (error := message.error()) is not None:
                if error.fatal():
                    raise KafkaException(error)
                continue  # the broker is away: the client keeps trying by itself
            record = self._record(message)
            self._journal.append(record)
            self._read[str(message.topic()), record.partition] = record.offset + 1
            self.copies += 1
            if record.event_id is not None:
                self.events.add(record.event_id)

    def _record(self, message: Message) -> LogRecord:
        headers = _headers(message)
        value = message.value() or b""
        key = message.key()
        version = headers.get("ce_aggregateversion", "")
        kind, moment = message.timestamp()
        return LogRecord(
            topic=self._topics[str(message.topic())],
            partition=_number(message.partition()),
            offset=_number(message.offset()),
            key=key.decode(errors="replace") if isinstance(key, bytes) else key,
            event_id=headers.get("ce_id"),
            type=headers.get("ce_type"),
            aggregate_type=headers.get("ce_aggregatetype"),
            aggregate_id=headers.get("ce_subject"),
            aggregate_version=int(version) if version.isdecimal() else None,
            payload=_text(value),
            sha256=hashlib.sha256(value).hexdigest(),
            timestamp=datetime.fromtimestamp(moment / 1000, UTC) if kind else None,
            archived_at=datetime.now(UTC),
            headers=headers,
        )

    def stop(self) -> None:
        """Idempotent; what was read is on disk."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(timeout=10.0)
        self._consumer.close()
        self._journal.close()


def _headers(message: Message) -> dict[str, str]:
    pairs: Iterable[tuple[str, bytes | str | None]] = message.headers() or ()  # type: ignore[assignment]
    return {name: value.decode(errors="replace") if isinstance(value, bytes) else str(value) for name, value in pairs}


def _number(value: int | None) -> int:
    if value is None:
        raise ValueError("a message without a partition or an offset")
    return value


def _text(value: bytes | str) -> str | None:
    if isinstance(value, str):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None
