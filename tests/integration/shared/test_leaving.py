"""A client that does not close keeps nobody from ending."""

import threading
from time import monotonic

import pytest
from confluent_kafka import Consumer, TopicPartition

from shared.kafka import consumer_config
from shared.leaving import leave
from shared.offset_commit import GroupMember
from tests.conftest import TopicFactory, eventually


def member(kafka: str, topic: str, may_go: threading.Event, protocol: str = "consumer") -> GroupMember:
    """Return a member with partitions, which gives them back no sooner than it may."""

    def give_back(consumer: Consumer, partitions: list[TopicPartition]) -> None:
        may_go.wait(60)
        consumer.incremental_unassign(partitions)

    made = GroupMember(consumer_config(kafka, f"{topic}.group", "test", protocol))
    made.subscribe([topic], on_assign=lambda each, given: each.incremental_assign(given), on_revoke=give_back)
    eventually(lambda: (made.poll(0.1), made.assignment())[1], 30, "partitions")
    return made


@pytest.mark.timeout(60)
def test_a_client_that_does_not_close_is_left_as_it_is(
    kafka: str, topic: TopicFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seen red: with the client's own close, which waits until the test's time limit has passed."""
    may_go = threading.Event()
    stuck = member(kafka, topic(1), may_go)
    assert not leave(stuck, seconds=0.5)
    assert "does not close" in capsys.readouterr().out
    may_go.set()
    eventually(lambda: not any(each.name == "leave" for each in threading.enumerate()), 30, "its end")


def test_a_member_that_can_leave_has_left_when_its_close_returns(kafka: str, topic: TopicFactory) -> None:
    """The same way: its callbacks run, and it cannot be used any more."""
    may_go = threading.Event()
    may_go.set()
    leaving = member(kafka, topic(1), may_go)
    leaving.close()
    with pytest.raises(RuntimeError, match="closed"):
        leaving.poll(0)


@pytest.mark.timeout(60)
def test_a_member_whose_join_waits_for_others_ends_without_it(kafka: str, topic: TopicFactory) -> None:
    """A classic group answers nobody's join until all have come again, and a busy member takes its time.

    Seen red: with the client's own close, which waits for that answer, five seconds and more.
    """
    may_go, name = threading.Event(), topic(1)
    may_go.set()
    busy = member(kafka, name, may_go, "classic")
    joining = GroupMember(consumer_config(kafka, f"{name}.group", "joining", "classic"))
    joining.subscribe([name])
    eventually(lambda: (joining.poll(0.1), joining.memberid())[1], 30, "a member that joins")
    begun = monotonic()
    leave(joining, seconds=1.0)
    assert monotonic() - begun < 3.0
    busy.close()
