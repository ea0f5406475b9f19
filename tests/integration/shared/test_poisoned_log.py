"""Poison in a real topic: it stops nobody, is not lost, and is not forgotten over restarts and rebalances."""

from collections.abc import Callable, Iterator, Sequence

import pytest
from confluent_kafka import Producer
from sqlalchemy import Connection, Engine, text

from shared import failpoints
from shared.consumer_parking import MOST_TRIES
from shared.envelope import to_headers
from shared.errors import PermanentError
from shared.failpoints import Failpoint
from shared.inbox import Delivery
from shared.kafka import producer_config
from tests.conftest import TopicFactory, eventually
from tests.integration.shared.messages import event, lot, recorded, write_effects
from tests.integration.shared.test_consumer import Died, Group, Running, die_once_at

REDRIVE = text("UPDATE inbox_parked SET state = 'redriving' WHERE state = 'parked'")


@pytest.fixture
def group(kafka: str, topic: TopicFactory, consuming: Engine) -> Group:
    return Group(kafka, topic(2), consuming)


@pytest.fixture(autouse=True)
def disarmed() -> Iterator[None]:
    yield
    failpoints.disarm()


def publish_bytes(group: Group, key: str, value: bytes | None, headers: list[tuple[str, bytes]]) -> None:
    producer = Producer(producer_config(group.bootstrap, "test"))
    producer.produce(group.topic, value, key.encode(), headers=headers)
    assert producer.flush(20) == 0


def refuses(aggregate_id: str, error: Callable[[], Exception]) -> Callable[[Connection, Sequence[Delivery]], None]:
    def handler(connection: Connection, batch: Sequence[Delivery]) -> None:
        if any(delivery.aggregate_id == aggregate_id for delivery in batch):
            raise error()
        write_effects(connection, batch)

    return handler


def test_a_topic_with_poison_goes_on_and_the_next_member_does_not_meet_it_again(group: Group) -> None:
    """Its offset is committed with the others; later events of its key are held, those of others have their effect."""
    first = event("a", 1)
    publish_bytes(group, "a", b"{broken", to_headers(first))
    publish_bytes(group, "b", None, [])
    group.publish(event("a", 2), event("c", 1))
    with Running(group.member()):
        eventually(lambda: group.effects() == [("c", 1)] and len(lot(group.engine)) == 3, 40, group.effects)
    group.publish(event("a", 3), event("c", 2))
    with Running(group.member()) as second:
        eventually(lambda: ("c", 2) in group.effects() and len(lot(group.engine)) == 4, 40, group.effects)
    assert second.died is None
    assert sorted(lot(group.engine), key=str) == [
        ("a", 1, "parked"), ("a", 2, "held"), ("a", 3, "held"), (None, None, "parked"),
    ]  # fmt: skip


def test_a_death_between_parking_and_commit_parks_once(group: Group) -> None:
    """Effects, inbox and lot go together: all of it again, or none."""
    publish_bytes(group, "a", b"{broken", to_headers(event("a", 1)))
    group.publish(event("b", 1))
    die_once_at(Failpoint.CONSUMER_AFTER_EFFECT_BEFORE_COMMIT)
    with Running(group.member()) as first:
        eventually(first.ended, 40, "the first member dies")
    assert isinstance(first.died, Died)
    with Running(group.member()):
        eventually(lambda: group.effects() and lot(group.engine), 40, "the second does it")
    assert (lot(group.engine), group.effects()) == ([("a", 1, "parked")], [("b", 1)])


def test_a_bug_crashes_its_process_and_is_parked_after_a_few_restarts(group: Group) -> None:
    """Each life ends with the bug itself; the last one parks its event and applies the others."""
    group.publish(event("a", 1), event("b", 1))
    handler = refuses("a", ZeroDivisionError)
    for _ in range(1, MOST_TRIES):
        with Running(group.member(handler)) as member:
            eventually(member.ended, 40, "the member ends")
        assert isinstance(member.died, ZeroDivisionError)
    with Running(group.member(handler)) as last:
        eventually(lambda: group.effects() == [("b", 1)] and lot(group.engine), 40, "it is parked")
    assert last.died is None
    assert lot(group.engine) == [("a", 1, "parked")]


def test_two_members_redrive_while_copies_arrive_and_each_event_has_one_effect(group: Group) -> None:
    """The same events, sent once more on both partitions while both members empty the lot."""
    events = [event("a", version) for version in range(1, 31)]
    group.publish(*events)
    with Running(group.member(refuses("a", lambda: PermanentError("not yet")))):
        eventually(lambda: len(lot(group.engine)) == 30, 40, lambda: lot(group.engine))
    with Running(group.member()), Running(group.member()):
        with group.engine.begin() as connection:
            connection.execute(REDRIVE)
        for partition in (0, 1):
            for each in events:
                group.publish_to(partition, each)
        group.publish(event("a", 31), event("z", 1))
        eventually(lambda: not lot(group.engine) and len(group.effects()) >= 32, 60, lambda: lot(group.engine))
    assert [version for name, version in group.effects() if name == "a"] == list(range(1, 32))
    assert len(recorded(group.engine)) == 32
