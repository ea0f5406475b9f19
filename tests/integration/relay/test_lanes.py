"""Leases: who works on which lanes, and who is fenced."""

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial

import pytest
from sqlalchemy import Engine, text

from services.relay import position as place
from services.relay.errors import CONNECTION_LOST
from services.relay.lanes import Held, Lanes, fair_share
from services.relay.pace import Pace
from services.relay.position import Position
from services.relay.session import Session
from services.relay.telling import Teller
from shared import database
from shared.outbox import LANES
from tests.conftest import eventually

QUICK = Pace(lease_seconds=1.0, renew_seconds=0.2, produce_deadline_seconds=0.5)
MakeLanes = Callable[..., Lanes]


@pytest.fixture
def lanes_of(engine: Engine, outbox_url: str) -> Iterator[MakeLanes]:
    """Return a function that makes a relay's leases on a connection of its own."""
    assert engine
    with ExitStack() as connections:

        def make(name: str, lease_seconds: float = 5.0) -> Lanes:
            connection = connections.enter_context(database.connect(outbox_url, None, name))
            return Lanes(connection, "event", name, lease_seconds)

        yield make


def lanes_in(held: list[Held]) -> list[int]:
    return sorted(lane for each in held for lane in each.lanes)


def test_a_lone_relay_takes_all_lanes(lanes_of: MakeLanes) -> None:
    """They stand together at the start, at one position."""
    (held,) = lanes_of("a").take([], fair_share(1))
    assert held.lanes == tuple(range(LANES))
    assert held.position == Position("1:1:", 0, None, None, 0)


def test_a_leased_position_is_not_taken(lanes_of: MakeLanes) -> None:
    """Only free, ended or one's own old leases are."""
    lanes_of("a").take([], LANES)
    assert lanes_of("b").take([], LANES) == []


def test_a_lease_that_ended_is_taken_over_and_its_owner_fenced(lanes_of: MakeLanes) -> None:
    """The epoch rises, and whoever holds the old one can neither renew nor settle nor split."""
    slow, quick = lanes_of("slow", lease_seconds=0.1), lanes_of("quick")
    (old,) = slow.take([], LANES)
    (new,) = eventually(lambda: quick.take([], LANES), 5, "the lease ends")
    assert new.epoch == old.epoch + 1
    assert slow.renew([old]) == []
    assert not place.settle(slow._database, old.position_id, "slow", old.epoch, old.position)
    assert slow.share_out([old], 4)[0].lanes == old.lanes
    assert quick.renew([new]) == [new]


def test_a_relay_knows_when_the_next_lease_of_another_ends(lanes_of: MakeLanes) -> None:
    """So that it can look just then. Its own, ended and free ones are not waited for."""
    first, second = lanes_of("a", lease_seconds=30), lanes_of("b")
    assert second.next_end_seconds() == math.inf
    held = first.take([], LANES)
    assert 25 < second.next_end_seconds() <= 30
    assert first.next_end_seconds() == math.inf
    first.release(held)
    assert second.next_end_seconds() == math.inf


def test_a_relay_restarted_under_its_name_takes_its_lanes_back_at_once(lanes_of: MakeLanes) -> None:
    """It need not wait for its own lease, and the process before it is fenced."""
    before = lanes_of("a")
    (old,) = before.take([], LANES)
    (new,) = lanes_of("a").take([], LANES)
    assert new.lanes == old.lanes
    assert before.renew([old]) == []


def test_two_processes_of_one_name_do_not_take_turns(lanes_of: MakeLanes) -> None:
    """Only a start takes back; the fenced one waits like anybody else."""
    before = lanes_of("a")
    before.take([], LANES)
    lanes_of("a").take([], LANES)
    assert before.take([], LANES) == []


def test_a_newcomer_gets_its_fair_share(lanes_of: MakeLanes) -> None:
    """The owner splits its position and gives one part away; together the lanes are whole."""
    first, second = lanes_of("a"), lanes_of("b")
    held = first.take([], fair_share(first.show_alive()))
    kept = first.share_out(held, fair_share(second.show_alive()))
    taken = second.take([], fair_share(2))
    assert len(lanes_in(kept)) == len(lanes_in(taken)) == LANES // 2
    assert lanes_in(kept + taken) == list(range(LANES))


def test_a_part_given_away_stands_where_the_whole_stood(lanes_of: MakeLanes) -> None:
    """Nothing is published twice because of a hand-over."""
    first, second = lanes_of("a"), lanes_of("b")
    (held,) = first.take([], LANES)
    moved = Position("100:100:", 55, "200:210:205", 99, 77)
    assert place.settle(first._database, held.position_id, "a", held.epoch, moved)
    first.share_out([held.at(moved)], 5)
    (taken,) = second.take([], LANES)
    assert taken.position == moved
    assert len(taken.lanes) == LANES - 5


def test_positions_at_the_same_place_are_joined(lanes_of: MakeLanes, engine: Engine) -> None:
    """Lanes that came back share one row again, so that a settle stays one row."""
    first, second = lanes_of("a"), lanes_of("b")
    held = first.share_out(first.take([], LANES), 8)
    second.take([], 8)
    second.leave([])
    with engine.begin() as connection:
        connection.execute(text("UPDATE relay_position SET owner = NULL WHERE owner = 'b'"))
    (whole,) = first.merge(held + first.take(held, LANES))
    assert whole.lanes == tuple(range(LANES))
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM relay_position")).scalar_one() == 2


def test_positions_at_different_places_stay_apart(lanes_of: MakeLanes) -> None:
    """Joining them would skip or repeat what lies between."""
    lanes = lanes_of("a")
    ahead, *_ = lanes.share_out(lanes.take([], LANES), 8)
    moved = Position("100:100:", 55, None, None, 0)
    assert place.settle(lanes._database, ahead.position_id, "a", ahead.epoch, moved)
    held = [ahead.at(moved), *lanes.take([ahead], LANES)]
    assert len(lanes.merge(held)) == 2
    assert len(lanes.merge([held[0].at(held[1].position), held[1]])) == 2, "memory alone joins nothing"


def test_who_leaves_frees_everything_at_once(lanes_of: MakeLanes) -> None:
    """A clean stop costs nobody the length of a lease."""
    first, second = lanes_of("a"), lanes_of("b")
    first.show_alive()
    first.leave(first.take([], LANES))
    assert second.show_alive() == 1
    assert lanes_in(second.take([], LANES)) == list(range(LANES))


def test_who_hangs_inside_a_transaction_is_replaced_all_the_same(engine: Engine, outbox_url: str) -> None:
    """The server ends its session: a stopped process would hold its rows' locks for as long as it sleeps."""

    def session(name: str) -> Session:
        connect = partial(database.connect, outbox_url, None, name)
        return Session.open(connect, destination="event", name=name, pace=QUICK, tell=Teller(name, "event"))

    hanging, heir = session("hanging"), session("heir")
    hanging.renew()

    def takes_over() -> bool:
        heir.renew()
        return lanes_in(heir.held) == list(range(LANES))

    hanging.database.execute("BEGIN")
    hanging.database.execute("SELECT FROM relay_position FOR UPDATE")
    eventually(takes_over, 10, "the lanes are taken")
    with pytest.raises(CONNECTION_LOST):
        hanging.renew()
    heir.leave()


@pytest.mark.parametrize(("living", "share"), [(0, 16), (1, 16), (2, 8), (3, 6), (5, 4), (16, 1), (40, 1)])
def test_shares_cover_all_lanes(living: int, share: int) -> None:
    """However many relays live, their shares together are enough."""
    assert fair_share(living) == share
    assert share * max(1, living) >= LANES
