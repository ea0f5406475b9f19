"""A client that does not close keeps nobody from ending."""

import threading

import pytest
from confluent_kafka import Consumer, TopicPartition
from structlog.testing import CapturingLogger

from shared import leaving
from shared.kafka import consumer_config
from shared.leaving import leave
from shared.offset_commit import GroupMember
from tests.conftest import TopicFactory, eventually


def member(kafka: str, topic: str, may_go: threading.Event) -> GroupMember:
    """Return a member with partitions, which gives them back no sooner than it may."""

    def give_back(consumer: Consumer, partitions: list[TopicPartition]) -> None:
        may_go.wait(60)
        consumer.incremental_unassign(partitions)

    made = GroupMember(consumer_config(kafka, f"{topic}.group", "test"))
    made.subscribe([topic], on_assign=lambda each, given: each.incremental_assign(given), on_revoke=give_back)
    eventually(lambda: (made.poll(0.1), made.assignment())[1], 30, "partitions")
    return made


@pytest.mark.timeout(60)
def test_a_client_that_does_not_close_is_left_as_it_is(
    kafka: str, topic: TopicFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen red: with the client's own close, which waits until the test's time limit has passed."""
    may_go, said = threading.Event(), CapturingLogger()
    monkeypatch.setattr(leaving, "log", said)
    stuck = member(kafka, topic(1), may_go)
    assert not leave(stuck, seconds=0.5)
    assert "does not close" in said.calls[0].args[0]
    may_go.set()
    eventually(lambda: not any(each.name == "leave" for each in threading.enumerate()), 30, "its end")


def test_a_member_that_can_leave_has_left_when_its_close_returns(kafka: str, topic: TopicFactory) -> None:
    """The same way: its callbacks run, and it cannot be used any more."""
    may_go = threading.Event()
    may_go.set()
    done = member(kafka, topic(1), may_go)
    done.close()
    with pytest.raises(RuntimeError, match="closed"):
        done.poll(0)
