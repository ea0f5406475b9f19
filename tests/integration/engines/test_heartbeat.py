"""Heartbeats translate what a slot has confirmed into a relay's position. No connector is needed to see it."""

import psycopg
import pytest

from infra.cdc import slot
from infra.local.deployment import Deployment
from tests.integration.engines.rows import add

pytestmark = pytest.mark.usefixtures("logical")

_CONFIRM = """
SELECT count(*) FROM pg_logical_slot_get_binary_changes(
  %s, NULL, NULL, 'proto_version', '1', 'publication_names', 'outbox_events')
"""
_COVERED = """
SELECT array_agg(aggregate_id ORDER BY outbox.id) FROM outbox, relay_position AS stand
WHERE stand.destination = 'event' AND pg_visible_in_snapshot(xid, done)
"""
_MISSED = """
SELECT count(*) FROM outbox, relay_position AS stand
WHERE stand.destination = 'event' AND outbox.id <= floor_id AND NOT pg_visible_in_snapshot(xid, done)
  AND xid NOT IN (SELECT pg_snapshot_xip(done))
"""


class Feed:
    """A slot whose reader we are."""

    def __init__(self, deployment: Deployment, database: psycopg.Connection) -> None:
        self.url, self.name, self.database = deployment.superuser_url("orders"), deployment.slot("orders"), database
        slot.make(self.url, self.name)

    def beat(self) -> None:
        self.database.execute("SELECT cdc_heartbeat(%s)", [self.name])

    def confirm(self) -> None:
        """Take all changes, as a connector does whose broker has acknowledged them."""
        self.database.execute(_CONFIRM, [self.name])

    def covered(self) -> list[str]:
        (found,) = self.database.execute(_COVERED).fetchone() or (None,)
        return found or []


@pytest.fixture
def feed(deployment: Deployment, outbox: psycopg.Connection) -> Feed:
    feed = Feed(deployment, outbox)
    slot.hand_over(feed.url)
    return feed


def test_the_position_sees_an_event_only_when_the_slot_has_confirmed_it(feed: Feed) -> None:
    add(feed.database, "first")
    feed.beat()
    feed.beat()
    assert feed.covered() == [], "written, and not confirmed"
    feed.confirm()
    feed.beat()
    assert feed.covered() == ["first"]


def test_a_late_commit_below_the_floor_is_not_taken_for_published(deployment: Deployment, feed: Feed) -> None:
    """The heartbeat's snapshot lists it as running, so its row stays pending until a later one sees it."""
    with psycopg.connect(feed.url) as late:
        add(late, "late")
        add(feed.database, "early")
        for _ in range(4):
            feed.beat()
            feed.confirm()
        assert feed.covered() == ["early"]
        assert feed.database.execute(_MISSED).fetchone() == (0,)
        late.commit()
    feed.confirm()
    for _ in range(2):
        feed.beat()
        feed.confirm()
    feed.beat()
    assert feed.covered() == ["late", "early"]


def test_an_event_written_after_a_heartbeat_lies_behind_its_floor(feed: Feed) -> None:
    """A relay that takes over looks only there, so whatever the snapshot does not see must be there."""
    add(feed.database, "before")
    for _ in range(3):
        feed.beat()
        feed.confirm()
    add(feed.database, "after")
    assert feed.covered() == ["before"]
    assert feed.database.execute(_MISSED).fetchone() == (0,)


def test_the_position_stays_while_relays_own_it(feed: Feed) -> None:
    """A connector that still beats after the way back moves nothing."""
    slot.take_back(feed.url)
    add(feed.database, "first")
    for _ in range(3):
        feed.beat()
        feed.confirm()
    assert feed.covered() == []


def test_heartbeats_do_not_pile_up(feed: Feed) -> None:
    for _ in range(20):
        feed.beat()
        feed.confirm()
    (count,) = feed.database.execute("SELECT count(*) FROM cdc_heartbeat").fetchone() or (None,)
    assert count <= 2


def test_how_far_a_slot_is_can_be_told(deployment: Deployment, feed: Feed) -> None:
    """Bytes behind, and the age of the last confirmed heartbeat; nothing for a slot that is not there."""
    before = slot.standing(feed.url, feed.name)
    assert before is not None
    assert before.confirmed_seconds is None
    feed.beat()
    feed.confirm()
    after = slot.standing(feed.url, feed.name)
    assert after is not None
    assert after.confirmed_seconds is not None
    assert 0 <= after.confirmed_seconds < 60
    assert after.wal_status == "reserved"
    assert slot.standing(feed.url, "nowhere") is None


def test_what_a_relay_keeps_back_is_counted(feed: Feed) -> None:
    """Debezium knows of no parking, so a switch to it is refused while an event is parked or held."""
    assert slot.kept_back(feed.url) == 0
    add(feed.database, "parked")
    feed.database.execute(
        "INSERT INTO outbox_parked (outbox_id, state, attempts, last_error, destination, lane, aggregate_type, "
        "aggregate_id) SELECT id, 'parked', 1, 'too large', destination, lane, aggregate_type, aggregate_id FROM outbox"
    )
    assert slot.kept_back(feed.url) == 1
    feed.database.execute("UPDATE outbox_parked SET state = 'discarded', discarded_reason = 'test'")
    assert slot.kept_back(feed.url) == 0


def test_only_events_are_in_the_publication(deployment: Deployment, feed: Feed) -> None:
    """Commands never come out of the log: relays carry them."""
    changes = "SELECT count(*) FROM pg_logical_slot_peek_binary_changes(%s, NULL, NULL, %s, %s, %s, %s)"
    options = [feed.name, "proto_version", "1", "publication_names", "outbox_events"]
    add(feed.database, "command", destination="command")
    assert feed.database.execute(changes, options).fetchone() == (0,)
    add(feed.database, "event")
    (count,) = feed.database.execute(changes, options).fetchone() or (0,)
    assert count > 0
