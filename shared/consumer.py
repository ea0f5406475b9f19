"""The consumer loop: receive a batch, apply it in one transaction behind the inbox, then commit its offsets.

Invariant: an offset is committed only after the transaction that holds the effects of everything below it, or their
entries in the parking lot. A crash at any point leads to a redelivery, which the inbox turns into nothing; it never
leads to a gap.

Not promised: that a member which has lost its partitions stops at once. It may apply what it holds; the new owner then
receives the same events, and the inbox lets each have its effect once.
"""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NoReturn

from confluent_kafka import OFFSET_BEGINNING, TopicPartition
from confluent_kafka import Consumer as KafkaConsumer
from opentelemetry.trace import SpanKind
from prometheus_client import Counter, Gauge, Histogram
from sqlalchemy import Connection, Engine

from shared import database
from shared.applying import Applier, CulpritError, Handler, Outcome, Read, effects, read_payload
from shared.caution import Caution
from shared.clock import utc_now
from shared.consumer_parking import MOST_DEATHS, MOST_TRIES, DeadlyError, Parking, Policy, words
from shared.dead_letters import Notices
from shared.dedup_window import DedupWindow
from shared.delivery_log import batch_lines
from shared.failpoints import Failpoint, reach
from shared.failures import Failure, failure_of
from shared.inbox import SCHEMA, Delivery, Inbox
from shared.inbox_redrive import Redriver
from shared.lag import LagGauge
from shared.logs import get_logger
from shared.offset_commit import GroupMember, committed_offsets
from shared.receiving import IDLE_POLL_SECONDS, Received, Receiver
from shared.retry import Backoff
from shared.schema_version import expect
from shared.tracing import batch_span

__all__ = ["Consumer", "Handler", "Policy"]

CONSUMED = Counter("consumer_events_consumed_total", "Events received from the log", ["group"])
APPLIED = Counter("consumer_events_applied_total", "Events that had their effect", ["group"])
DUPLICATES = Counter("consumer_duplicates_suppressed_total", "Deliveries that the inbox or the lot knew", ["group"])
PARKED = Counter("consumer_events_parked_total", "Deliveries that can never be applied, put into the lot", ["group"])
HELD = Counter("consumer_events_held_total", "Deliveries put into the lot behind an earlier one", ["group"])
ASSIGNED = Gauge("consumer_partitions_assigned", "Partitions that the group has given to this member", ["group"])
RETRIES = Counter("consumer_batch_retries_total", "Batches put back because the database was away", ["group"])
BATCH_SECONDS = Histogram("consumer_batch_seconds", "From receipt of a batch to its commit", ["group"])
BATCH_EVENTS = Histogram(
    "consumer_batch_events", "Events in a batch", ["group"], buckets=(1, 5, 20, 50, 100, 200, 500, 1000, 2000, 5000)
)
EFFECT_SECONDS = Histogram(
    "consumer_effect_seconds",
    "From an event's time, at which it was written with its state, to the commit of its effect here",
    ["group", "type"],
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600),
)

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
        read: Read = read_payload,
        policy: Policy = Policy.HOLD,
        window: DedupWindow | None = None,
        consumer: str | None = None,
        source: str | None = None,
    ) -> None:
        """``consumer`` is its name in inbox and lot, the group's unless told otherwise; no ``window``: any age.

        ``source`` is the service's in its events, for the notices of what is parked; without one none is written.
        """
        expect(engine, SCHEMA)
        self._kafka = kafka
        self._engine = engine
        self._group = group
        self._topics = list(topics)
        self._batch_size = batch_size
        self._receiver = Receiver(kafka, group)
        name = consumer or group
        self._parking = Parking(name, policy, Notices(name, source) if source else None)
        self._applier = Applier(inbox=inbox, handler=handler, parking=self._parking, read=read, window=window)
        self._caution = Caution(engine, self._parking, name)
        self._redriver = Redriver(
            engine=engine, applier=self._applier, parking=self._parking, receiver=self._receiver, group=group
        )
        for counter in (CONSUMED, APPLIED, DUPLICATES, PARKED, HELD, RETRIES):
            counter.labels(group)  # said from the start: a first one that comes with its series is no increase
        self._assigned: dict[tuple[str, int], int] = {}
        self._lag = LagGauge(kafka, group)
        self._age_seconds = 0.0
        self._held: list[Received] = []
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
        if not self._paused:
            self._redriver.step()
        batch = self._retry_held() if self._held else self._receiver.receive(self._batch_size)
        if batch:
            self._take_on(batch)
        else:
            self._kafka.offsets.send()
        self._lag.look(self._assigned, self._age_seconds)

    def _take_on(self, batch: list[Received]) -> None:
        """Process a batch as one, or each delivery by itself where processes have died without a word."""
        try:
            self._caution.end(self._kafka.offsets)
            doubtful = self._caution.begin(batch)
        except Exception as error:
            if failure_of(error) is not Failure.TRANSIENT:
                raise
            self._hold(batch, error)
            return
        if not doubtful:
            self._process(batch, self._apply)
            return
        for place, each in enumerate(batch, start=1):
            self._process([each], self._apply_named)
            if self._held:
                self._held += batch[place:]
                return

    def _process(self, batch: list[Received], apply: Callable[[list[Received]], Outcome]) -> None:
        started = time.monotonic()
        reach(Failpoint.CONSUMER_AFTER_POLL_BEFORE_TRANSACTION)
        try:
            with batch_span(f"{self._group} apply", SpanKind.CONSUMER, _traceparents(batch), events=len(batch)):
                outcome = apply(batch)
        except CulpritError as found:
            self._caution.excuse()
            self._give_up(found)
        except Exception as error:
            if failure_of(error) is not Failure.TRANSIENT:
                self._caution.excuse()
                raise
            self._hold(batch, error)
            return
        self._release()
        reach(Failpoint.CONSUMER_AFTER_COMMIT_BEFORE_OFFSET)
        self._count(batch, outcome, time.monotonic() - started)
        self._remember_offsets(batch)
        self._kafka.offsets.send()

    def _apply(self, batch: list[Received]) -> Outcome:
        """Apply a batch in one transaction; if something in it fails for good, in another one that parks it."""
        try:
            return self._in_one_transaction(self._applier.together, batch)
        except Exception as error:
            if failure_of(error) in (Failure.TRANSIENT, Failure.STOP):
                raise
            log.warning("batch failed, its culprit is looked for", group=self._group, detail=words(error))
            failed = error
        return self._in_one_transaction(partial(self._applier.apart, failed=failed), batch)

    def _apply_named(self, batch: list[Received]) -> Outcome:
        """Apply one delivery that may end this process: whoever comes after must know which one it was."""
        (received,) = batch
        deaths = self._caution.name(received)
        if deaths < MOST_DEATHS:
            outcome = self._apply(batch)
        else:
            log.error("parked, since it kills its process", group=self._group, deaths=deaths, topic=received.topic,
                      partition=received.partition, offset=received.offset)  # fmt: skip
            with effects(self._engine) as connection:
                outcome = self._applier.refuse(connection, received, DeadlyError(), deaths)
        self._caution.survived(received)
        return outcome

    def _in_one_transaction(
        self, apply: Callable[[Connection, Sequence[Received]], Outcome], batch: list[Received]
    ) -> Outcome:
        with effects(self._engine) as connection:
            return apply(connection, batch)

    def _give_up(self, found: CulpritError) -> NoReturn:
        """Count a failure that nobody foresaw, and crash with it: a supervisor starts this process again."""
        bug = found.__cause__
        assert bug is not None
        with database.transaction(self._engine) as connection:
            tries = self._parking.count_try(connection, found.received, bug)
        log.error("this delivery makes the process fail", group=self._group, culprit=str(found), tries=tries,
                  parked_at_try=MOST_TRIES, detail=words(bug))  # fmt: skip
        raise bug

    # A database that is away: hold the batch, keep the partitions

    def _hold(self, batch: list[Received], error: Exception) -> None:
        self._held = batch
        # The next try gets a connection of its own: this one may be to a server that has become read only.
        self._engine.dispose()
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
            detail=words(error),
        )

    def _retry_held(self) -> list[Received]:
        remaining = self._resume_at - time.monotonic()
        # In two steps: while it polls, a rebalance may take what is held, and `+=` would put that back.
        more = self._receiver.receive(1, max(0.0, min(remaining, IDLE_POLL_SECONDS)))
        self._held += more
        return self._held if time.monotonic() >= self._resume_at else []

    def _release(self) -> None:
        if self._paused:
            self._held = []
            self._paused = False
            self._backoff.reset()
            self._kafka.resume(self._kafka.assignment())

    def _remember_offsets(self, batch: Iterable[Received]) -> None:
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
        self._caution.given(committed)
        self._assigned |= {(each.topic, each.partition): each.offset for each in committed}
        # Said of each partition that comes: one that went while it was paused would come back paused, and stay so.
        (kafka.pause if self._paused else kafka.resume)(committed)
        self._log_change("partitions assigned", committed)

    def _on_revoke(self, kafka: KafkaConsumer, partitions: list[TopicPartition]) -> None:
        self._kafka.offsets.send_now()
        self._let_go(kafka, partitions, "partitions revoked")

    def _on_lost(self, kafka: KafkaConsumer, partitions: list[TopicPartition]) -> None:
        # Somebody else may own them already: nothing may be committed for them any more.
        self._let_go(kafka, partitions, "partitions lost")

    def _let_go(self, kafka: KafkaConsumer, partitions: list[TopicPartition], what: str) -> None:
        self._forget(partitions)
        self._log_change(what, partitions)
        # Nothing may be asked of the client behind this line. When it closes, this is what it has waited for; its group
        # is gone then, and a question of member or generation waits for ever, with the interpreter's lock in its hand.
        kafka.incremental_unassign(partitions)

    def _forget(self, partitions: Sequence[TopicPartition]) -> None:
        gone = _keys(partitions)
        self._assigned = {place: start for place, start in self._assigned.items() if place not in gone}
        self._held = [d for d in self._held if (d.topic, d.partition) not in gone]
        self._kafka.offsets.forget(partitions)
        self._caution.taken(partitions)

    # Telling

    def _log_change(self, what: str, partitions: Iterable[TopicPartition]) -> None:
        ASSIGNED.labels(self._group).set(len(self._assigned))
        log.info(
            what,
            group=self._group,
            member=self._kafka.memberid(),
            generation=self._receiver.generation(),
            partitions=sorted(f"{p.topic}[{p.partition}]" for p in partitions),
        )

    def _count(self, batch: Sequence[Received], outcome: Outcome, seconds: float) -> None:
        CONSUMED.labels(self._group).inc(len(batch))
        APPLIED.labels(self._group).inc(len(outcome.applied))
        PARKED.labels(self._group).inc(len(outcome.parked))
        HELD.labels(self._group).inc(len(outcome.held))
        news = len(outcome.applied) + len(outcome.parked) + len(outcome.held)
        DUPLICATES.labels(self._group).inc(len(batch) - news)
        BATCH_SECONDS.labels(self._group).observe(seconds)
        BATCH_EVENTS.labels(self._group).observe(len(batch))
        self._measure_ages(batch, outcome)
        for line in batch_lines(batch, outcome.applied, outcome.parked, outcome.held):
            log.info("batch applied", group=self._group, seconds=round(seconds, 4), **line)

    def _measure_ages(self, batch: Sequence[Received], outcome: Outcome) -> None:
        now = utc_now()
        for delivery in outcome.applied:
            event = delivery.envelope
            EFFECT_SECONDS.labels(self._group, event.type).observe((now - event.occurred_at).total_seconds())
        if isinstance(last := batch[-1], Delivery):
            self._age_seconds = max(0.0, (now - last.envelope.occurred_at).total_seconds())


def _keys(partitions: Iterable[TopicPartition]) -> set[tuple[str, int]]:
    return {(partition.topic, partition.partition) for partition in partitions}


def _traceparents(batch: Iterable[Received]) -> Iterable[str | None]:
    return (received.envelope.traceparent for received in batch if isinstance(received, Delivery))
