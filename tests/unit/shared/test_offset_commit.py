"""A commit that is never answered must not stop its consumer for ever."""

import threading
from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from shared.offset_commit import CommitUnansweredError, OffsetCommit

OFFSETS = [TopicPartition("orders.events", 0, 7)]


class Broker:
    """The one call of the Kafka client that is used: it answers when told to, as a broker may or may not."""

    def __init__(self) -> None:
        self.answers = threading.Event()
        self.refuses = False
        self.committed: list[list[TopicPartition]] = []

    def commit(self, *, offsets: list[TopicPartition], asynchronous: bool) -> None:
        assert not asynchronous
        self.answers.wait(10)
        if self.refuses:
            raise KafkaException(KafkaError(KafkaError.ILLEGAL_GENERATION))
        self.committed.append(offsets)


@pytest.fixture
def broker() -> Iterator[Broker]:
    broker = Broker()
    yield broker
    broker.answers.set()


def commit_of(broker: Broker) -> OffsetCommit:
    return OffsetCommit(broker, answer_seconds=0.05)  # type: ignore[arg-type]  # only commit() is called


def test_an_answered_commit_is_done(broker: Broker) -> None:
    """It returns once the broker has the offsets."""
    broker.answers.set()
    commit_of(broker)(OFFSETS)
    assert broker.committed == [OFFSETS]


def test_an_unanswered_commit_is_given_up_in_time(broker: Broker) -> None:
    """The consumer goes on; the offsets may stay behind."""
    with pytest.raises(CommitUnansweredError, match="no answer within"):
        commit_of(broker)(OFFSETS)


def test_while_one_is_on_its_way_no_other_is_sent(broker: Broker) -> None:
    """An older commit must not arrive behind a newer one."""
    commit = commit_of(broker)
    with pytest.raises(CommitUnansweredError):
        commit(OFFSETS)
    with pytest.raises(CommitUnansweredError, match="earlier"):
        commit(OFFSETS)
    broker.answers.set()
    commit.settle()
    commit(OFFSETS)
    assert len(broker.committed) == 2


def test_a_refused_commit_is_raised(broker: Broker) -> None:
    """The caller says so and goes on: the effects are durable."""
    broker.answers.set()
    broker.refuses = True
    with pytest.raises(KafkaException):
        commit_of(broker)(OFFSETS)
