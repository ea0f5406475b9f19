"""Where events and commands go: Kafka for facts, a Celery queue for commands. One protocol for both.

Invariant: ``publish`` counts a row only when the receiver has acknowledged it and every row before it. What it does not
count may still have arrived; it will be sent again, with the same event id.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import msgspec
from celery import Celery
from confluent_kafka import KafkaError, KafkaException, Message, Producer
from kombu.exceptions import OperationalError

from services.relay.failures import Fault, RowFaultError, of_kafka
from services.relay.limits import TopicLimits
from services.relay.position import Row
from shared.envelope import text_headers


@dataclass(frozen=True, slots=True)
class Published:
    """How far a chunk came: the first ``count`` rows are acknowledged; ``error`` says why not the next, and ``fault``
    whose fault that is."""

    count: int
    error: str | None = None
    fault: Fault = Fault.RECEIVER


class Transport(Protocol):
    def open(self) -> None:
        """Make the client now, so that the first chunk need not wait for it. Does not wait for the receiver."""
        ...

    def probe(self, deadline_seconds: float) -> str | None:
        """Ask the receiver for a sign of life. Returns None, or why there was none."""
        ...

    def publish(self, rows: Sequence[Row], deadline_seconds: float) -> Published:
        """Send rows in order and wait for every report, at most until the deadline. Raises nothing for a receiver that
        is away or a row that cannot be sent: these are results."""
        ...

    def close(self) -> None: ...


class KafkaTransport:
    """Publishes events to the topic of their aggregate type, keyed by aggregate id.

    At the deadline or the first error everything that is still on its way is purged and the producer thrown away: with
    a new one the next attempt begins behind the acknowledged prefix, and nothing old can overtake it.
    """

    def __init__(self, config: Mapping[str, Any], topics: Mapping[str, str]) -> None:
        self._config = dict(config)
        self._topics = topics
        self._limits = TopicLimits(self._config)
        self._producer: Producer | None = None

    def open(self) -> None:
        self._client()

    def probe(self, deadline_seconds: float) -> str | None:
        try:
            self._client().list_topics(next(iter(self._topics.values())), timeout=deadline_seconds)
        except KafkaException as error:
            return _reason(error)
        return None

    def publish(self, rows: Sequence[Row], deadline_seconds: float) -> Published:
        deadline = time.monotonic() + deadline_seconds
        try:
            sound, refusal = self._sound(rows, deadline)
        except KafkaException as error:
            return Published(0, f"the topics' limits are not known: {_reason(error)}")
        published = self._send(sound, deadline_seconds, deadline)
        if refusal is None or published.error is not None:
            return published
        return Published(published.count, refusal, Fault.ROW)

    def close(self) -> None:
        """Give up what is on its way and forget the producer."""
        producer, self._producer = self._producer, None
        if producer is not None:
            producer.purge()
            with suppress(KafkaException):  # an end that is known by now
                producer.flush(0)

    def _sound(self, rows: Sequence[Row], deadline: float) -> tuple[Sequence[Row], str | None]:
        """Return the rows before the first that can never be sent, and what is wrong with that one."""
        if not self._limits.known():
            self._learn_limits(deadline)
        topics, small = self._topics, self._limits.batch_bytes() - ENVELOPE_BYTES
        for index, row in enumerate(rows):
            size = len(row.payload) + 2 * len(row.aggregate_id)
            if size < small and row.aggregate_type in topics and row.aggregate_id:
                continue  # nearly all: told apart with as little work as may be
            if self._refusal(row) is not None:
                self._learn_limits(deadline)  # it may have been raised, so that this row can be sent now
                refusal = self._refusal(row)
                if refusal is not None:
                    return rows[:index], refusal
        return rows, None

    def _refusal(self, row: Row) -> str | None:
        topic = self._topics.get(row.aggregate_type)
        if topic is None:
            return f"no topic takes events of the aggregate type {row.aggregate_type!r}"
        if not row.aggregate_id:
            return "it has no aggregate id, and an empty key would scatter its aggregate over the partitions"
        size = len(row.payload) + ENVELOPE_BYTES + 2 * len(row.aggregate_id)
        if size > self._limits.of(topic):
            return f"about {size} bytes are more than {topic} takes (max.message.bytes={self._limits.of(topic)})"
        return None

    def _learn_limits(self, deadline: float) -> None:
        before = (self._limits.batch_bytes(), self._limits.record_bytes())
        self._limits.learn(self._topics.values(), deadline - time.monotonic())
        if before != (self._limits.batch_bytes(), self._limits.record_bytes()):
            self.close()  # nothing is on its way here; the next producer has the new sizes

    def _send(self, rows: Sequence[Row], deadline_seconds: float, deadline: float) -> Published:
        producer = self._client()
        reports = _Reports(len(rows))
        try:
            for index, row in enumerate(rows):
                self._produce(producer, row, partial(reports.take, index), deadline)
            while reports.waiting and not reports.errors and time.monotonic() < deadline:
                producer.flush(min(0.1, max(0.0, deadline - time.monotonic())))  # ends the lingering, too
        except KafkaException as error:
            reports.errors.append(error.args[0])
            self._hear_out(producer)
        except BufferError:
            pass  # no room until the deadline: the same as no report
        if reports.count == len(rows):
            return Published(len(rows))
        self.close()
        return reports.failure(deadline_seconds)

    def _hear_out(self, producer: Producer) -> None:
        """Take the reports that say what a producer has died of."""
        for _ in range(5):
            with suppress(KafkaException):
                producer.poll(0.02)

    def _client(self) -> Producer:
        # Made in the thread that uses it: a producer does not survive a fork.
        if self._producer is None:
            sizes = {"batch.size": self._limits.batch_bytes(), "message.max.bytes": self._limits.record_bytes()}
            self._producer = Producer(self._config | sizes)
        return self._producer

    def _produce(self, producer: Producer, row: Row, on_delivery: Any, deadline: float) -> None:
        message = self._message(row)
        while True:
            try:
                producer.produce(**message, on_delivery=on_delivery)
                return
            except BufferError:
                # The same message again once there is room: a later one must not take its place.
                if time.monotonic() >= deadline:
                    raise
                producer.poll(0.05)

    def _message(self, row: Row) -> dict[str, Any]:
        return {
            "topic": self._topics[row.aggregate_type],
            "key": row.aggregate_id,
            "value": row.payload,
            "headers": row_headers(row),
        }


ENVELOPE_BYTES = 600
"""Room for the headers and the batch around one record, besides its payload, its key and its subject."""


_PURGED = (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT)
"""What we have given up ourselves is no news."""


class _Reports:
    """The delivery reports of one chunk."""

    def __init__(self, expected: int) -> None:
        self._acknowledged = [False] * expected
        self.waiting = expected
        self.count = 0
        self.errors: list[KafkaError] = []

    def take(self, index: int, error: KafkaError | None, _message: Message) -> None:
        self.waiting -= 1
        if error is None:
            self._acknowledged[index] = True
            self.count += 1
        elif error.code() not in _PURGED:
            self.errors.append(error)

    def failure(self, deadline_seconds: float) -> Published:
        """Say how far the chunk came and why no farther. The receiver's refusal explains what came after it."""
        prefix = [*self._acknowledged, False].index(False)
        faults = [(of_kafka(error, len(self._acknowledged)), error.str()) for error in self.errors]
        faults.sort(key=lambda each: each[0] is Fault.RECEIVER)
        fault, reason = faults[0] if faults else (Fault.RECEIVER, f"no report within {deadline_seconds:.1f} s")
        return Published(prefix, reason, fault)


class CeleryTransport:
    """Puts commands into a Celery queue; the task's id is the event's id. Accepted by the queue is acknowledged."""

    def __init__(self, app_factory: Callable[[], Celery], queue: str, tasks: Mapping[str, str]) -> None:
        self._app_factory = app_factory
        self._queue = queue
        self._tasks = tasks
        self._app: Celery | None = None

    def open(self) -> None:
        self._client()

    def probe(self, deadline_seconds: float) -> str | None:
        try:
            with self._client().connection_for_write() as connection:
                connection.ensure_connection(max_retries=1, timeout=deadline_seconds)
        except (OperationalError, OSError) as error:
            return str(error)
        return None

    def publish(self, rows: Sequence[Row], deadline_seconds: float) -> Published:
        app = self._client()
        deadline = time.monotonic() + deadline_seconds
        for count, row in enumerate(rows):
            if time.monotonic() >= deadline:
                return Published(count, f"the queue took {count} of {len(rows)} within {deadline_seconds:.1f} s")
            try:
                self._send(app, row)
            except RowFaultError as error:
                return Published(count, str(error), Fault.ROW)
            except (OperationalError, OSError) as error:
                self.close()
                return Published(count, str(error))
        return Published(len(rows))

    def close(self) -> None:
        if self._app is not None:
            self._app.close()
            self._app = None

    def _client(self) -> Celery:
        if self._app is None:
            self._app = self._app_factory()
        return self._app

    def _send(self, app: Celery, row: Row) -> None:
        with _blaming(row):
            task, command = self._tasks[row.type], msgspec.json.decode(row.payload)
        app.send_task(
            task,
            kwargs={"event_id": row.event_id, "command": command},
            task_id=row.event_id,
            queue=self._queue,
            headers={"traceparent": row.traceparent} if row.traceparent else {},
            retry=False,
        )


def row_headers(row: Row) -> list[tuple[str, str]]:
    """Return the headers of the message that carries a row's event."""
    return text_headers(
        event_id=row.event_id,
        type=row.type,
        source=row.source,
        aggregate_type=row.aggregate_type,
        aggregate_id=row.aggregate_id,
        aggregate_version=row.aggregate_version,
        dataschema=row.dataschema,
        occurred_at=row.occurred_at,
        traceparent=row.traceparent,
    )


@contextmanager
def _blaming(row: Row) -> Iterator[None]:
    """Turn what is wrong with the row's own content into its fault."""
    try:
        yield
    except KeyError as error:
        raise RowFaultError(f"no task takes commands of the type {row.type!r}") from error
    except msgspec.DecodeError as error:
        raise RowFaultError(f"its payload cannot be read: {error}") from error


def _reason(error: KafkaException) -> str:
    cause = error.args[0]
    return cause.str() if isinstance(cause, KafkaError) else str(error)
