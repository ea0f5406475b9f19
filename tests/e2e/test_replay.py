"""A consumer group is sent back while it runs, and nothing changes; what must not be, is refused with words."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Consumer

from infra.local.deployment import Deployment
from infra.local.errors import StackError
from infra.local.stack import LocalStack
from infra.replay import group as groups
from infra.replay.group import Group, OffsetsRefusedError
from infra.replay.replay import TooOldError, plan, replay
from shared.leaving import leave
from tests.conftest import eventually
from tests.e2e.conftest import System

ORDERS = 12


@pytest.fixture(scope="module")
def orders(system: System) -> list[str]:
    """Orders that have come to their end."""
    placed = [str(system.place(key=str(uuid4()))["order_id"]) for _number in range(ORDERS)]
    eventually(lambda: all(system.order(each)["state"] == "confirmed" for each in placed), 60, "confirmed orders")
    return placed


@pytest.fixture
def billing(system: System, orders: list[str]) -> Group:
    assert orders
    group = group_of(system, "billing")
    eventually(lambda: is_settled(group), 30, "committed offsets")
    return group


def group_of(system: System, service: str) -> Group:
    return Group(system.deployment, system.deployment._stack.servers.kafka, service)


def is_settled(group: Group) -> bool:
    found = plan(group, "earliest").total
    return found.events >= 2 * ORDERS  # placed and confirmed


def running(group: Group) -> bool:
    return all(group.deployment.pid(member) is not None for member in group.members)


def effects(system: System) -> list[dict[str, Any]]:
    """Return what billing's tables hold, but for what the mail worker tells of its mails meanwhile."""
    tables = ("bill", "payment", "invoice", "number_series", "outbox")
    row = "(to_jsonb(t) - 'mail_outcome' - 'mail_reminders' - 'mail_commanded_at' - 'mail_settled_at')::text"
    query = f"SELECT count(*), md5(string_agg({row}, '' ORDER BY {row})) FROM"
    return [system.rows("billing", f"{query} {name} AS t")[0] for name in tables]


def said(_line: str) -> None:
    """Report nothing."""


def test_a_dry_run_counts_what_would_come_again_and_what_the_inbox_knows(billing: Group) -> None:
    planned = plan(billing, "earliest")
    assert planned.total.events == planned.total.known >= 2 * ORDERS
    assert sum(each.end - each.begin for each in planned.again.values()) == planned.total.events
    assert not planned.total.unknown
    assert not planned.is_too_old
    assert running(billing)


def test_a_copy_at_another_offset_is_known_by_its_id(system: System, billing: Group) -> None:
    """A rewound relay publishes everything again, at offsets that no inbox row names."""
    before = plan(billing, "earliest").total.events
    system.rows(
        "orders",
        "UPDATE relay_position SET done = '1:1:', floor_id = 0, after_id = 0, epoch = epoch + 1, owner = NULL, "
        "target = done, target_floor = floor_id WHERE destination = 'event' RETURNING 1",
    )
    again = eventually(lambda: (found := plan(billing, "earliest").total).events >= 2 * before and found, 60, "copies")
    assert again.known == again.events


def test_an_event_that_the_inbox_does_not_know_is_told_by_its_type(system: System, orders: list[str]) -> None:
    analytics = group_of(system, "analytics")
    eventually(lambda: is_settled(analytics), 30, "committed offsets")
    row = system.rows("analytics", "DELETE FROM inbox WHERE topic LIKE '%%billing.events' RETURNING *")
    try:
        total = plan(analytics, "earliest").total
        assert total.unknown == {"InvoiceIssued": len(row)}
        assert total.known == total.events - total.unknown.total()
        park(system, row[0])
        assert plan(analytics, "earliest").total.unknown == {"InvoiceIssued": len(row) - 1}
    finally:
        system.rows("analytics", "DELETE FROM inbox_parked RETURNING 1")
        for each in row:
            names, marks = ", ".join(f'"{name}"' for name in each), ", ".join(["%s"] * len(each))
            system.rows("analytics", f"INSERT INTO inbox ({names}) VALUES ({marks}) RETURNING 1", *each.values())


def park(system: System, row: dict[str, Any]) -> None:
    """Put an event into the lot, where a copy of it is known as well."""
    system.rows(
        "analytics",
        'INSERT INTO inbox_parked (consumer, topic, partition, "offset", headers, event_id, state, attempts, error) '
        "VALUES (%s, %s, %s, %s, '[]', %s, 'parked', 1, 'why') RETURNING 1",
        *(row[name] for name in ("consumer", "topic", "partition", "offset", "event_id")),
    )


def test_a_running_group_reads_everything_again_and_nothing_changes(system: System, billing: Group) -> None:
    before, stood = effects(system), billing.committed()
    duplicates = len(system.rows("billing", "SELECT 1 FROM inbox"))
    replay(billing, plan(billing, "earliest"), said)
    assert running(billing)
    eventually(lambda: billing.committed() == stood, 60, "the group where it stood")
    assert effects(system) == before
    assert len(system.rows("billing", "SELECT 1 FROM inbox")) == duplicates


def test_one_partition_goes_back_to_an_offset_and_the_others_stay(billing: Group) -> None:
    (topic, partition), end = next((place, end) for place, end in billing.committed().items() if end > 1)
    planned = plan(billing, str(end - 1), topic, partition)
    assert {place: (each.begin, each.end) for place, each in planned.again.items()} == {
        (topic, partition): (end - 1, end)
    }


def test_a_time_is_a_place_in_every_partition(billing: Group) -> None:
    assert plan(billing, (datetime.now(UTC) + timedelta(hours=1)).isoformat()).total.events == 0
    long_ago = plan(billing, "2020-01-01T00:00:00Z")
    assert long_ago.total.events == plan(billing, "earliest").total.events


@pytest.mark.parametrize(("to", "words"), [("soon", "no place in a topic"), ("0", "say which with --partition")])
def test_a_place_that_is_none_is_refused(billing: Group, to: str, words: str) -> None:
    with pytest.raises(StackError, match=words):
        plan(billing, to)


def test_no_group_is_moved_forward(billing: Group) -> None:
    (topic, partition), end = next(iter(billing.committed().items()))
    with pytest.raises(StackError, match="never moved forward"):
        plan(billing, str(end + 1), topic, partition)


def test_what_is_older_than_the_longest_replay_needs_force(stack: LocalStack, system: System, billing: Group) -> None:
    """And says what would double: here the window is nothing, and the inbox has forgotten one event."""
    strict = Deployment(
        stack,
        system.deployment.namespace,
        system.deployment.directory,
        None,
        {**stack.environ, "LONGEST_REPLAY_DAYS": "0", "DEDUP_WINDOW_DAYS": "0"},
    )
    group, stood = Group(strict, billing.kafka, "billing"), billing.committed()
    planned = plan(group, "earliest")
    with pytest.raises(TooOldError, match="It still knows all of them, so nothing would double"):
        replay(group, planned, said)
    next(iter(planned.again.values())).forgotten["OrderPlaced"] = 1
    with pytest.raises(TooOldError, match=r"does not know 1 of them \(1 OrderPlaced\): consumers park"):
        replay(group, planned, said)
    assert billing.committed() == stood
    replay(group, planned, said, force=True)
    eventually(lambda: billing.committed() == stood, 60, "the group where it stood")


@contextmanager
def a_stranger_in(group: Group) -> Iterator[None]:
    """Somebody else's member, which this stack cannot stop."""
    stranger = Consumer({"bootstrap.servers": group.kafka, "group.id": group.name, "group.protocol": "consumer"})
    stranger.subscribe(list(group.topics))
    try:
        eventually(lambda: (stranger.poll(0.2), stranger.memberid() and stranger.assignment())[1], 30, "a member")
        yield
    finally:
        # The client's own close has been seen to hang for good, and no time limit of a test reaches it there.
        leave(stranger)


def test_a_group_with_a_foreign_member_is_left_alone_and_its_own_are_started_again(
    billing: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    stood = billing.committed()
    monkeypatch.setattr(groups, "EMPTY_WITHIN_SECONDS", 2.0)
    with a_stranger_in(billing), pytest.raises(StackError, match="still has members that this stack did not start"):
        replay(billing, plan(billing, "earliest"), said)
    assert running(billing)
    assert billing.committed() == stood


def test_offsets_of_a_group_with_members_are_not_moved_and_the_broker_says_why(billing: Group) -> None:
    billing.deployment.wait_until_ready()
    with pytest.raises(OffsetsRefusedError, match="Kafka refused to move the offsets"):
        billing.move(dict.fromkeys(billing.places(), 0))


def test_a_group_that_was_stopped_stays_so(billing: Group) -> None:
    for member in billing.members:
        billing.deployment.stop_process(member)
    stood = billing.committed()
    replay(billing, plan(billing, "earliest"), said)
    assert not any(billing.deployment.pid(member) for member in billing.members)
    assert set(billing.committed().values()) == {0}
    for member in billing.members:
        billing.deployment.start_process(member)
    eventually(lambda: billing.committed() == stood, 60, "the group where it stood")
