"""Where events and commands go: Kafka for facts, a Celery queue for commands. One protocol for both.

Invariant: ``publish`` counts a row only when the receiver has acknowledged it and every row before it. What it does not
count may still have arrived; it will be sent again, with the same event id.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import msgspec
from celery import Celery
from confluent_kafka import KafkaError, KafkaException, Message, Producer
from kombu.exceptions import OperationalError

from services.relay.position import Row
from shared.envelope import Envelope, to_headers


@dataclass(frozen=True, slots=True)
class Published:
    """How far a chunk came: the first ``count`` rows are acknowledged; ``error`` says why not all."""

    count: int
    error: str | None = None


class Transport(Protocol):
    def open(self) -> None:
        """Make the client now, so that the first chunk need not wait for it. Does not wait for the receiver."""
        ...

    def publish(self, rows: Sequence[Row], deadline_seconds: float) -> Published:
        """Send rows in order and wait for every report, at most until the deadline. Raises nothing for a receiver that
        is away: that is a result."""
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
        self._producer: Producer | None = None

    def open(self) -> None:
        self._client()

    def publish(self, rows: Sequence[Row], deadline_seconds: float) -> Published:
        producer = self._client()
        reports = _Reports(len(rows))
        deadline = time.monotonic() + deadline_seconds
        try:
            for index, row in enumerate(rows):
                self._produce(producer, row, partial(reports.take, index), deadline)
        except (KafkaException, BufferError) as error:
            reports.errors.append(str(error))
        while reports.waiting and not reports.errors and time.monotonic() < deadline:
            producer.poll(min(0.1, max(0.0, deadline - time.monotonic())))
        if reports.count == len(rows):
            return Published(len(rows))
        reason = reports.reason(deadline_seconds)
        self.close()
        return Published(reports.acknowledged_prefix(), reason)

    def close(self) -> None:
        """Give up what is on its way and forget the producer."""
        if self._producer is not None:
            self._producer.purge()
            self._producer.flush(0)
            self._producer = None

    def _client(self) -> Producer:
        # Made in the thread that uses it: a producer does not survive a fork.
        if self._producer is None:
            self._producer = Producer(self._config)
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
        assert row.aggregate_id, "an empty key would scatter an aggregate over the partitions"
        return {
            "topic": self._topics[row.aggregate_type],
            "key": row.aggregate_id.encode(),
            "value": row.payload,
            "headers": to_headers(_envelope(row)),
        }


class _Reports:
    """The delivery reports of one chunk."""

    def __init__(self, expected: int) -> None:
        self._acknowledged = [False] * expected
        self.waiting = expected
        self.count = 0
        self.errors: list[str] = []

    def take(self, index: int, error: KafkaError | None, _message: Message) -> None:
        self.waiting -= 1
        if error is None:
            self._acknowledged[index] = True
            self.count += 1
        else:
            self.errors.append(error.str())

    def acknowledged_prefix(self) -> int:
        return [*self._acknowledged, False].index(False)

    def reason(self, deadline_seconds: float) -> str:
        return self.errors[0] if self.errors else f"no report within {deadline_seconds:.1f} s"


class CeleryTransport:
    """Puts commands into a Celery queue; the task's id is the event's id. Accepted by the queue is acknowledged."""

    def __init__(self, app_factory: Callable[[], Celery], queue: str, tasks: Mapping[str, str]) -> None:
        self._app_factory = app_factory
        self._queue = queue
        self._tasks = tasks
        self._app: Celery | None = None

    def open(self) -> None:
        self._client()

    def publish(self, rows: Sequence[Row], deadline_seconds: float) -> Published:
        app = self._client()
        deadline = time.monotonic() + deadline_seconds
        for count, row in enumerate(rows):
            if time.monotonic() >= deadline:
                return Published(count, f"the queue took {count} of {len(rows)} within {deadline_seconds:.1f} s")
            try:
                self._send(app, row)
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
        app.send_task(
            self._tasks[row.type],
            kwargs={"event_id": str(row.event_id), "command": msgspec.json.decode(row.payload)},
            task_id=str(row.event_id),
            queue=self._queue,
            headers={"traceparent": row.traceparent} if row.traceparent else {},
            retry=False,
        )


def _envelope(row: Row) -> Envelope:
    return Envelope(
        event_id=row.event_id,
        type=row.type,
        source=row.source,
        aggregate_type=row.aggregate_type,
        aggregate_id=row.aggregate_id,
        aggregate_version=row.aggregate_version,
        dataschema=row.dataschema,
        payload=row.payload,
        occurred_at=row.occurred_at,
        traceparent=row.traceparent,
    )
