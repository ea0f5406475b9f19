"""Committing offsets without waiting: one commit at a time, and nothing forgotten that was refused."""

import pytest
from confluent_kafka import KafkaError, TopicPartition

from shared.errors import ConfigurationError
from shared.kafka import GROUP_PROTOCOLS, consumer_config
from shared.offset_commit import GroupMember, OffsetCommit

TOPIC = "orders.events"


class Broker:
    """The one call of the Kafka client that is used; it answers when the test says so."""

    def __init__(self) -> None:
        self.asked: list[list[TopicPartition]] = []

    def commit(self, *, offsets: list[TopicPartition], asynchronous: bool) -> None:
        assert asynchronous, "to wait for an answer is to keep the member from polling"
        self.asked.append(offsets)


def standing(partitions: list[TopicPartition]) -> list[tuple[int, int]]:
    return sorted((each.partition, each.offset) for each in partitions)


def commit_of(broker: Broker) -> OffsetCommit:
    return OffsetCommit(broker)  # type: ignore[arg-type]  # only commit() is called


def test_offsets_are_sent_once() -> None:
    """What the broker has taken is not sent again."""
    broker = Broker()
    offsets = commit_of(broker)
    offsets.remember(TOPIC, 0, 7)
    offsets.send()
    offsets.answered(None, broker.asked[0])
    offsets.send()
    assert [standing(asked) for asked in broker.asked] == [[(0, 7)]]


def test_while_one_is_on_its_way_no_other_is_sent() -> None:
    """An older commit must not arrive behind a newer one; what comes meanwhile goes with the next."""
    broker = Broker()
    offsets = commit_of(broker)
    for offset in (7, 8, 9):
        offsets.remember(TOPIC, 0, offset)
        offsets.send()
    assert len(broker.asked) == 1
    offsets.answered(None, broker.asked[0])
    offsets.send()
    assert [standing(asked) for asked in broker.asked] == [[(0, 7)], [(0, 9)]]


def test_partitions_that_are_given_away_are_committed_at_once() -> None:
    """Their next owner begins where this one ends."""
    broker = Broker()
    offsets = commit_of(broker)
    for offset in (7, 8):
        offsets.remember(TOPIC, 0, offset)
        offsets.send_now()
    assert [standing(asked) for asked in broker.asked] == [[(0, 7)], [(0, 8)]]


def test_what_was_refused_is_kept() -> None:
    """An offset that stays behind costs a redelivery, one that is forgotten costs one for every restart."""
    broker = Broker()
    offsets = commit_of(broker)
    offsets.remember(TOPIC, 0, 7)
    offsets.send()
    offsets.answered(KafkaError(KafkaError.ILLEGAL_GENERATION), broker.asked[0])
    offsets.send_now()
    assert [standing(asked) for asked in broker.asked] == [[(0, 7)], [(0, 7)]]


def test_lost_partitions_are_not_committed() -> None:
    """Somebody else may own them already."""
    broker = Broker()
    offsets = commit_of(broker)
    offsets.remember(TOPIC, 0, 7)
    offsets.remember(TOPIC, 1, 3)
    offsets.forget([TopicPartition(TOPIC, 0)])
    offsets.send()
    assert [standing(asked) for asked in broker.asked] == [[(1, 3)]]


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "cooperative-sticky,range", None])
def test_a_classic_group_with_an_eager_assignor_is_refused(strategy: str | None) -> None:
    """Its callbacks would mean something else, so a member does not even start; the words say what to set."""
    config = consumer_config("127.0.0.1:1", "group", "test", "classic")
    config["partition.assignment.strategy"] = strategy
    with pytest.raises(ConfigurationError, match="cooperative-sticky"):
        GroupMember(config)


@pytest.mark.parametrize("protocol", GROUP_PROTOCOLS)
def test_both_protocols_are_taken_as_they_are_configured_here(protocol: str) -> None:
    """The newer one has its assignor at the broker."""
    GroupMember(consumer_config("127.0.0.1:1", "group", "test", protocol)).close()
