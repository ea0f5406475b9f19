"""The consumer loop: receive a batch, apply it in one transaction behind the inbox, then commit its offsets.

Invariant: an offset is committed only after the transaction that holds the effects of everything below it. A crash at
any point leads to a redelivery, which the inbox turns into nothing; it never leads to a gap.

Not promised: that a member which has lost its partitions stops at once. It may apply what it holds; the new owner then
receives the same events, and the inbox lets each have its effect once.
"""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from confluent_kafka import (
    OFFSET_BEGINNING,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)
from confluent_kafka import Consumer as KafkaConsumer
from opentelemetry.trace import SpanKind
from prometheus_client import Counter, Gauge, Histogram
from sqlalchemy import Connection, Engine

from shared import database, envelope
from shared.delivery_log import batch_lines
from shared.errors import PermanentError, RefusedError, TransientError
from shared.failpoints import Failpoint, reach
from shared.group_metadata import UNKNOWN_GENERATION, generation_of
from shared.inbox import Delivery, Inbox
from shared.logs import get_logger
from shared.offset_commit import GroupMember, committed_offsets
from shared.retry import Backoff
from shared.tracing import batch_span

Handler = Callable[[Connection, Sequence[Delivery]], None]
"""Applies new deliveries, in log order within each partition. Raises on trouble; never commits."""

IDLE_POLL_SECONDS: Final = 0.5

CONSUMED = Counter("consumer_events_consumed_total", "Events received from the log", ["group"])
APPLIED = Counter("consumer_events_applied_total", "Events that had their effect", ["group"])
DUPLICATES = Counter("consumer_duplicates_suppressed_total", "Deliveries that the inbox knew", ["group"])
ASSIGNED = Gauge("consumer_partitions_assigned", "Partitions that the group has given to this member", ["group"])
RETRIES = Counter("consumer_batch_retries_total", "Batches put back because the database was away", ["group"])
BATCH_SECONDS = Histogram("consumer_batch_seconds", "From receipt of a batch to its commit", ["group"])

log = get_logger(__name__)


class Consumer:
    """One member of a consumer group. To be run by one thread."""

    def __init__(
        self,
        *,
        kafka: GroupMember,
        engine: Engine,
        inbox: Inbox,
        handler: Handler,
        group: str,
        topics: Sequence[str],
        batch_size: int = 500,
    ) -> None:
        self._kafka = kafka
        self._engine = engine
        self._inbox = inbox
        self._handler = handler
        self._group = group
        self._topics = list(topics)
        self._batch_size = batch_size
        self._assigned: set[tuple[str, int]] = set()
        self._held: list[Delivery] = []
        self._paused = False
        self._resume_at = 0.0
        self._backoff = Backoff()

    def run(self, stop: threading.Event) -> None:
        """Consume until stopped; the batch in hand is finished and its offsets are committed."""
        self._kafka.subscribe(self._topics, on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost)
        try:
            while not stop.is_set():
                self.step()
        finally:
            self._kafka.offsets.settle()
            self._kafka.close()

    def step(self) -> None:
        """Do one unit of work: receive and process one batch, or wait a little for one that is held."""
        if self._paused and not self._held:
            self._release()  # what was held went to another member; what stays here goes on
        batch = self._retry_held() if self._held else self._receive()
        if batch:
            self._process(batch)
        else:
            self._kafka.offsets.send()

    def _process(self, batch: list[Delivery]) -> None:
        started = time.monotonic()
        reach(Failpoint.CONSUMER_AFTER_POLL_BEFORE_TRANSACTION)
        try:
            with batch_span(
                f"{self._group} apply",
                SpanKind.CONSUMER,
                (delivery.envelope.traceparent for delivery in batch),
                events=len(batch),
            ):
                fresh = self._apply(batch)
        except Exception as error:
            if not (isinstance(error, TransientError) or database.is_away(error)):
                raise
            self._hold(batch, error)
            return
        self._release()
        reach(Failpoint.CONSUMER_AFTER_COMMIT_BEFORE_OFFSET)
        self._count(batch, fresh, time.monotonic() - started)
        self._remember_offsets(batch)
        self._kafka.offsets.send()

    def _apply(self, batch: list[Delivery]) -> list[Delivery]:
        with database.transaction(self._engine) as connection:
            fresh = self._inbox.new(connection, batch)
            if fresh:
                self._handler(connection, fresh)
            reach(Failpoint.CONSUMER_AFTER_EFFECT_BEFORE_COMMIT)
        return fresh

    # Receiving

    def _receive(self) -> list[Delivery]:
        # The first message is waited for, the others are taken as they are there: latency when little comes, batches
        # when much does.
        first = self._kafka.poll(IDLE_POLL_SECONDS)
        if first is None:
            return []
        return self._read([first, *self._kafka.consume(self._batch_size - 1, 0)])

    def _read(self, messages: Iterable[Message]) -> list[Delivery]:
        member, generation = self._kafka.memberid() or "", self._generation()
        batch = []
        for message in messages:
            error = message.error()
            if error is None:
                batch.append(_delivery(message, member, generation))
            else:
                self._judge(error, message)
        return batch

    def _judge(self, error: KafkaError, message: Message) -> None:
        """Decide what an error event means for the loop: wait, or stop with words."""
        if error.code() == KafkaError._AUTO_OFFSET_RESET:
            raise RefusedError(
                f"The log no longer has offset {message.offset()} of {message.topic()}[{message.partition()}], where "
                f"group {self._group} has to go on ({error.str()}). Going on elsewhere would skip events. Send the "
                "missing stretch again from the outbox, set the group's offset by hand, and start this consumer again."
            )
        if error.fatal():
            raise KafkaException(error)
        # Broker away, topic not there yet, coordinator moving: the client keeps trying by itself.
        log.warning("kafka reports trouble", group=self._group, code=error.name(), detail=error.str())

    # A database that is away: hold the batch, keep the partitions

    def _hold(self, batch: list[Delivery], error: Exception) -> None:
        self._held = batch
        # Paused but polled: the member stays in the group for as long as the database is away.
        self._kafka.pause(self._kafka.assignment())
        self._paused = True
        delay = self._backoff.next()
        self._resume_at = time.monotonic() + delay
        RETRIES.labels(self._group).inc()
        log.warning(
            "batch held, the database is away",
            group=self._group,
            events=len(batch),
            failures=self._backoff.failures,
            retry_in_seconds=round(delay, 3),
            detail=str(error).splitlines()[0],
        )

    def _retry_held(self) -> list[Delivery]:
        remaining = self._resume_at - time.monotonic()
        message = self._kafka.poll(max(0.0, min(remaining, IDLE_POLL_SECONDS)))
        if message is not None:
            self._held += self._read([message])
        return self._held if time.monotonic() >= self._resume_at else []

    def _release(self) -> None:
        if self._paused:
            self._held = []
            self._paused = False
            self._backoff.reset()
            self._kafka.resume(self._kafka.assignment())

    def _remember_offsets(self, batch: Iterable[Delivery]) -> None:
        for delivery in batch:
            self._kafka.offsets.remember(delivery.topic, delivery.partition, delivery.offset + 1)

    # Rebalancing. Callbacks run inside poll(), so never while a batch is being applied.

    def _on_assign(self, kafka: KafkaConsumer, partitions: list[TopicPartition]) -> None:
        committed = committed_offsets(kafka, partitions)
        for partition in committed:
            if partition.offset < 0:
                # This group has never been here: it starts at the beginning, by this line and not by a reset policy.
                partition.offset = OFFSET_BEGINNING
        kafka.incremental_assign(committed)
        self._assigned |= _keys(committed)
        if self._paused:
            kafka.pause(committed)
        self._log_change("partitions assigned", committed)

    def _on_revoke(self, kafka: KafkaConsumer, partitions: list[TopicPartition]) -> None:
        self._kafka.offsets.send_now()
        self._forget(partitions)
        kafka.incremental_unassign(partitions)
        self._log_change("partitions revoked", partitions)

    def _on_lost(self, kafka: KafkaConsumer, partitions: list[TopicPartition]) -> None:
        # Somebody else may own them already: nothing may be committed for them any more.
        self._forget(partitions)
        kafka.incremental_unassign(partitions)
        self._log_change("partitions lost", partitions)

    def _forget(self, partitions: Sequence[TopicPartition]) -> None:
        gone = _keys(partitions)
        self._assigned -= gone
        self._held = [d for d in self._held if (d.topic, d.partition) not in gone]
        self._kafka.offsets.forget(partitions)

    # Telling

    def _log_change(self, what: str, partitions: Iterable[TopicPartition]) -> None:
        ASSIGNED.labels(self._group).set(len(self._assigned))
        log.info(
            what,
            group=self._group,
            member=self._kafka.memberid(),
            generation=self._generation(),
            partitions=sorted(f"{p.topic}[{p.partition}]" for p in partitions),
        )

    def _generation(self) -> int:
        try:
            return generation_of(self._kafka.consumer_group_metadata())
        except RuntimeError:  # what the client says of a group that it has left or not yet joined
            return UNKNOWN_GENERATION

    def _count(self, batch: Sequence[Delivery], fresh: Sequence[Delivery], seconds: float) -> None:
        CONSUMED.labels(self._group).inc(len(batch))
        APPLIED.labels(self._group).inc(len(fresh))
        DUPLICATES.labels(self._group).inc(len(batch) - len(fresh))
        BATCH_SECONDS.labels(self._group).observe(seconds)
        for line in batch_lines(batch, fresh):
            log.info("batch applied", group=self._group, seconds=round(seconds, 4), **line)


def _keys(partitions: Iterable[TopicPartition]) -> set[tuple[str, int]]:
    return {(partition.topic, partition.partition) for partition in partitions}


def _delivery(message: Message, member: str, generation: int) -> Delivery:
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None
    assert partition is not None
    assert offset is not None
    headers = message.headers()
    try:
        event = envelope.from_message(headers.items() if isinstance(headers, dict) else headers, message.value())
    except PermanentError as error:
        raise PermanentError(f"{topic}[{partition}] offset {offset} cannot be read: {error}") from error
    return Delivery(event, topic, partition, offset, member, generation)
