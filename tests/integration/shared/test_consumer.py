"""The consumer loop on a real topic and a real database: once, in order, and never a gap."""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import sleep
from typing import Any, cast
from uuid import UUID

import pytest
from confluent_kafka import Producer, TopicPartition
from prometheus_client import REGISTRY
from sqlalchemy import Connection, Engine, text

from shared import failpoints
from shared.clock import utc_now
from shared.consumer import RETRIES, Consumer
from shared.envelope import Envelope, to_headers
from shared.errors import TransientError
from shared.events import OrderConfirmed
from shared.failpoints import Failpoint
from shared.inbox import DatabaseInbox, Delivery
from shared.kafka import consumer_config, producer_config
from shared.offset_commit import GroupMember
from shared.outbox import new_event
from tests.conftest import TopicFactory, eventually

PARTITIONS = 3
UNITS = ("messages", "seconds")


class Died(BaseException):
    """What a killed consumer looks like from inside."""


@pytest.fixture
def engine(consuming: Engine) -> Engine:
    return consuming


@dataclass
class Group:
    """One consumer group on a topic of its own, with the effects that its members had."""

    bootstrap: str
    topic: str
    engine: Engine
    protocol: str = "consumer"

    def publish(self, *events: Envelope) -> None:
        producer = Producer(producer_config(self.bootstrap, "test"))
        for event in events:
            producer.produce(self.topic, event.payload, event.aggregate_id.encode(), headers=to_headers(event))
        assert producer.flush(20) == 0

    def publish_to(self, partition: int, event: Envelope) -> None:
        producer = Producer(producer_config(self.bootstrap, "test"))
        producer.produce(self.topic, event.payload, event.aggregate_id.encode(), partition, headers=to_headers(event))
        assert producer.flush(20) == 0

    def member(
        self,
        handler: Callable[[Connection, Sequence[Delivery]], None] | None = None,
        batch_size: int = 500,
        client: type[GroupMember] = GroupMember,
    ) -> Consumer:
        config = consumer_config(self.bootstrap, f"{self.topic}.group", "test", self.protocol)
        return Consumer(
            kafka=client(config),
            engine=self.engine,
            inbox=DatabaseInbox("test"),
            handler=handler or write_effects,
            group=f"{self.topic}.group",
            topics=[self.topic],
            batch_size=batch_size,
        )

    def effects(self) -> list[tuple[str, int]]:
        with self.engine.connect() as connection:
            rows = connection.execute(text("SELECT aggregate_id, version FROM effect ORDER BY id"))
            return [(row.aggregate_id, row.version) for row in rows]


@pytest.fixture(params=["consumer", "classic"])
def group(request: pytest.FixtureRequest, kafka: str, topic: TopicFactory, engine: Engine) -> Group:
    return Group(kafka, topic(PARTITIONS), engine, request.param)


@pytest.fixture(autouse=True)
def disarmed() -> Iterator[None]:
    yield
    failpoints.disarm()


def write_effects(connection: Connection, batch: Sequence[Delivery]) -> None:
    for delivery in batch:
        connection.execute(
            text("INSERT INTO effect (aggregate_id, version) VALUES (:id, :version)"),
            {"id": delivery.envelope.aggregate_id, "version": delivery.envelope.aggregate_version},
        )


def event(aggregate_id: str, version: int) -> Envelope:
    new = new_event(
        "order", aggregate_id, version, OrderConfirmed(order_id=aggregate_id, invoice_number="1"), source="/orders"
    )
    return Envelope(
        new.event_id, new.type, new.source, "order", aggregate_id, version, new.dataschema, new.payload, utc_now()
    )


class Questioned(GroupMember):
    """Notes what is asked of it, and when it is told to let partitions go."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__(config)
        self.asked: list[str] = []

    def memberid(self) -> str | None:
        self.asked.append("memberid")
        return super().memberid()

    def consumer_group_metadata(self) -> Any:
        self.asked.append("consumer_group_metadata")
        return super().consumer_group_metadata()

    def incremental_unassign(self, partitions: list[TopicPartition]) -> None:
        self.asked.append("incremental_unassign")
        super().incremental_unassign(partitions)


def test_a_member_that_closes_is_asked_nothing_once_it_has_let_go(group: Group) -> None:
    """Its group is gone then, and a question of it may wait for ever and keep the whole process from ending.

    Seen red with the line in the log behind the letting go.
    """
    leaving = group.member(client=Questioned)
    with Running(leaving):
        group.publish(event("a", 1))
        eventually(group.effects, 30, "an effect")
    asked = cast(Questioned, leaving._kafka).asked
    assert asked.count("incremental_unassign") == 1
    assert asked[-1] == "incremental_unassign"


class Running:
    """A member in a thread of its own, ended at the end of the block."""

    def __init__(self, consumer: Consumer) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(consumer,))
        self.died: BaseException | None = None

    def __enter__(self) -> "Running":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def ended(self) -> bool:
        return not self._thread.is_alive()

    def _run(self, consumer: Consumer) -> None:
        try:
            consumer.run(self._stop)
        except BaseException as error:  # noqa: BLE001  # the test looks at it
            self.died = error


def die_once_at(point: Failpoint) -> None:
    deaths: list[Failpoint] = []

    def hook(reached: Failpoint) -> None:
        if reached is point and not deaths:
            deaths.append(point)
            raise Died(point)

    failpoints.arm(hook)


def test_each_event_has_one_effect_in_the_order_of_its_aggregate(group: Group) -> None:
    """A group that has never been here starts at the beginning."""
    group.publish(*[event(f"order-{n}", version) for version in (1, 2, 3) for n in range(10)])
    with Running(group.member()):
        eventually(lambda: len(group.effects()) == 30, 30, "all events have their effect")
    for n in range(10):
        assert [version for aggregate, version in group.effects() if aggregate == f"order-{n}"] == [1, 2, 3]


def test_a_copy_of_an_event_changes_nothing(group: Group) -> None:
    """Neither in one batch with the first nor in a later one: the event's id decides, not its offset."""
    first = event("order-1", 1)
    group.publish(first, first)
    with Running(group.member()):
        eventually(lambda: len(group.effects()) >= 1, 30, "the event has its effect")
        group.publish(first, event("order-1", 2))
        eventually(lambda: ("order-1", 2) in group.effects(), 30, "the event behind the copy has its effect")
    assert group.effects() == [("order-1", 1), ("order-1", 2)]


@pytest.mark.parametrize(
    "point",
    [
        Failpoint.CONSUMER_AFTER_POLL_BEFORE_TRANSACTION,
        Failpoint.CONSUMER_AFTER_EFFECT_BEFORE_COMMIT,
        Failpoint.CONSUMER_AFTER_COMMIT_BEFORE_OFFSET,
    ],
)
def test_a_death_at_any_step_loses_and_doubles_nothing(group: Group, point: Failpoint) -> None:
    """The next member receives the same events again, and each has one effect."""
    group.publish(*[event("order-1", version) for version in range(1, 6)])
    die_once_at(point)
    with Running(group.member()) as first:
        eventually(first.ended, 30, "the first member dies")
    assert isinstance(first.died, Died)
    with Running(group.member()):
        eventually(lambda: len(group.effects()) >= 5, 30, "the second member applies what is left")
    assert group.effects() == [("order-1", version) for version in range(1, 6)]


def test_a_database_that_is_away_is_waited_for(group: Group) -> None:
    """The batch is held, the member stays in its group, and everything is applied in order afterwards."""
    failures = iter([TransientError("away")] * 3)

    def handler(connection: Connection, batch: Sequence[Delivery]) -> None:
        write_effects(connection, batch)
        if error := next(failures, None):
            raise error

    group.publish(*[event("order-1", version) for version in range(1, 4)])
    with Running(group.member(handler)) as member:
        eventually(lambda: len(group.effects()) == 3, 30, "the batch is applied at last")
        group.publish(event("order-1", 4))
        eventually(lambda: len(group.effects()) == 4, 30, "its partition goes on")
    assert member.died is None
    assert group.effects() == [("order-1", version) for version in range(1, 5)]


@pytest.mark.parametrize("held", [0, 1])
def test_what_a_member_keeps_goes_on_when_its_held_batch_is_given_to_another(
    kafka: str, topic: TopicFactory, engine: Engine, held: int
) -> None:
    """Of two partitions one moves to the second member; whether it is the held one depends on ``held``."""
    group = Group(kafka, topic(2), engine)
    second_works = threading.Event()

    def away(connection: Connection, batch: Sequence[Delivery]) -> None:
        if not second_works.is_set():
            raise TransientError("away")
        write_effects(connection, batch)

    def works(connection: Connection, batch: Sequence[Delivery]) -> None:
        write_effects(connection, batch)
        second_works.set()

    group.publish_to(held, event("order-1", 1))
    with Running(group.member(away)) as first:
        eventually(lambda: RETRIES.labels(f"{group.topic}.group")._value.get(), 30, "the batch is held")
        with Running(group.member(works)):
            for partition in (0, 1):
                group.publish_to(partition, event(f"order-{2 + partition}", 1))
            eventually(lambda: len(group.effects()) == 3, 30, group.effects)
    assert first.died is None
    assert len(set(group.effects())) == 3


def test_an_error_that_is_no_outage_ends_the_member_and_commits_nothing(group: Group) -> None:
    """A bug is loud, and the batch is there again afterwards."""

    def handler(_connection: Connection, _batch: Sequence[Delivery]) -> None:
        raise ZeroDivisionError

    group.publish(event("order-1", 1))
    with Running(group.member(handler)) as broken:
        eventually(broken.ended, 30, "the member ends")
    assert isinstance(broken.died, ZeroDivisionError)
    with Running(group.member()):
        eventually(lambda: group.effects() == [("order-1", 1)], 30, "another member applies the event")


def test_where_and_by_whom_an_event_was_applied_stands_in_the_inbox(group: Group) -> None:
    """Topic, partition, offset, member and the group's generation."""
    group.publish(event("order-1", 1))
    with Running(group.member()):
        eventually(lambda: len(group.effects()) == 1, 30, "the event has its effect")
    with group.engine.connect() as connection:
        row = connection.execute(text("SELECT * FROM inbox")).one()
    assert (row.consumer, row.topic, row.offset, row.aggregate_id, row.aggregate_version) == (
        "test",
        group.topic,
        0,
        "order-1",
        1,
    )
    assert row.member
    assert row.generation >= 1
    assert isinstance(row.event_id, UUID)


def test_a_second_member_takes_its_part_and_gives_it_back(group: Group) -> None:
    """Members may come and go under load: every event has one effect."""
    with Running(group.member()):
        group.publish(*[event(f"order-{n}", 1) for n in range(50)])
        with Running(group.member()):
            group.publish(*[event(f"order-{n}", 2) for n in range(50)])
            eventually(lambda: len(group.effects()) == 100, 30, "both generations apply")
        group.publish(*[event(f"order-{n}", 3) for n in range(50)])
        eventually(lambda: len(group.effects()) == 150, 30, "the one that stays goes on with all")
    assert len(set(group.effects())) == 150


def test_a_member_says_how_far_it_is_behind(group: Group) -> None:
    """In messages and in seconds; nothing is behind once all is applied, and each effect's latency is counted."""
    labels, may_go_on = {"group": f"{group.topic}.group"}, threading.Event()

    def metric(name: str, **more: str) -> float | None:
        return REGISTRY.get_sample_value(name, {**labels, **more})

    def slow(connection: Connection, batch: Sequence[Delivery]) -> None:
        may_go_on.wait(30)
        write_effects(connection, batch)

    group.publish_to(0, event("order-1", 1))
    with Running(group.member(slow)):
        eventually(lambda: metric("consumer_partitions_assigned") == PARTITIONS, 30, "the member has its partitions")
        for number in range(2, 12):
            group.publish_to(number % PARTITIONS, event(f"order-{number}", 1))
        may_go_on.set()
        eventually(lambda: len(group.effects()) == 11, 30, "everything is applied")
        eventually(lambda: metric("consumer_lag_messages") == 0, 30, "nothing is behind")
        assert metric("consumer_lag_seconds") == 0
    batches, events = metric("consumer_batch_events_count"), metric("consumer_batch_events_sum")
    assert batches is not None
    assert batches >= 2
    assert events == 11
    assert metric("consumer_effect_seconds_count", type="OrderConfirmed") == 11


def test_what_lies_behind_a_batch_is_counted_while_it_is_there(kafka: str, topic: TopicFactory, engine: Engine) -> None:
    """A member that takes one message at a time says how many are still to come, and how old the last one was."""
    group = Group(kafka, topic(1), engine)
    labels = {"group": f"{group.topic}.group"}
    group.publish(*[event(f"order-{n}", 1) for n in range(30)])
    seen: list[tuple[float, float]] = []

    def note(connection: Connection, batch: Sequence[Delivery]) -> None:
        sleep(0.15)
        seen.append(tuple(REGISTRY.get_sample_value(f"consumer_lag_{unit}", labels) or 0.0 for unit in UNITS))  # type: ignore[arg-type]
        write_effects(connection, batch)

    with Running(group.member(note, batch_size=1)):
        eventually(lambda: len(group.effects()) == 30, 60, "everything is applied")
    assert any(0 < messages < 30 and seconds > 0 for messages, seconds in seen), seen
