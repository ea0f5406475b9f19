"""What a relay holds: a connection, leases on positions, and where it stands at each, a little ahead of the table.

Invariant: it ends with its connection. What was remembered may be ahead of the table, and after a crash of the server
even ahead of its memory; so after a loss the table is read again. Every write names the epoch of its lease, and a
position that belongs to somebody else by now is dropped.

Not promised: that the table is up to date. A settle is due a few times a second; what was published since will be
published again by whoever takes over.
"""

import time
from collections.abc import Callable, Sequence
from typing import Final, Self

from services.relay import identity
from services.relay import position as place
from services.relay.caution import Care, Caution
from services.relay.lanes import Held, Lanes, fair_share
from services.relay.pace import Pace
from services.relay.parking import Parked, Parking
from services.relay.position import Database, Position, Row
from services.relay.telling import Teller
from shared import outbox_tables, wakeup
from shared.backlog import backlogs

AFTER_END_SECONDS: Final = 0.02
BACKLOG_SECONDS: Final = 5.0
COUNT_AT_MOST: Final = 100_000


class Session:
    """One connection's worth of a relay. For one thread."""

    def __init__(self, database: Database, *, destination: str, name: str, pace: Pace, tell: Teller) -> None:
        self.database = database
        self.parking = Parking(database, destination, name)
        self.held: list[Held] = []
        self.care: dict[int, Care] = {}
        self.sequence_floor = 0
        self._lanes = Lanes(database, destination, name, pace.lease_seconds)
        self._name = name
        self._pace = pace
        self._tell = tell
        self._settled: dict[int, tuple[Position, Caution]] = {}
        self._published_since_settle = 0
        self._next_renewal = self._next_settle = self._next_count = 0.0
        self._lease_ends = 0.0

    @classmethod
    def open(cls, connect: Callable[[], Database], *, destination: str, name: str, pace: Pace, tell: Teller) -> Self:
        """Connect, and make sure that tables and positions are such as we know. Raises RefusedError or StandbyError."""
        database = connect()
        try:
            place.look_by_index(database)
            _let_go_when_hanging(database, pace)
            outbox_tables.SCHEMA.check(database.execute)
            identity.check(database)
        except BaseException:
            database.close()
            raise
        wakeup.listen(database)
        return cls(database, destination=destination, name=name, pace=pace, tell=tell)

    def close(self) -> None:
        self.database.close()

    # Leases

    def renewal_is_due(self) -> bool:
        return self.until_renewal_seconds() <= 0

    def until_renewal_seconds(self) -> float:
        return self._next_renewal - time.monotonic()

    def renew(self) -> None:
        """Show that this relay lives, extend its leases, and take or give lanes for a fair share."""
        begun = time.monotonic()
        drawn = place.last_drawn_id(self.database)
        living = self._lanes.show_alive()
        self.sequence_floor = drawn  # a write of our own has committed since it was read
        self.settle()
        held = self._lanes.renew(self.held)
        # Counted from before the first statement: by our own clock the lease never ends later than by the table's.
        self._lease_ends = begun + self._pace.lease_seconds
        share = fair_share(living)
        taken = self._lanes.take(held, share)
        held = self._lanes.merge(self._lanes.share_out(held + taken, share))
        self._tell.taken(taken)
        self._tell.lanes(self.held, held)
        self.hold(held)
        self.parking.look(self.all_lanes())
        self._tell.in_lot(self.parking.counts(self.all_lanes()))
        self._tell_backlog()
        # A lease that nobody renews is looked at when it ends, not up to a renewal later.
        end = time.monotonic() + self._lanes.next_end_seconds() + AFTER_END_SECONDS
        self._next_renewal = min(begun + self._pace.renew_seconds, end)

    def deadline_seconds(self) -> float:
        """Return how long to wait for reports: by our own clock the lease has to outlast it."""
        return min(self._pace.produce_deadline_seconds, self._lease_ends - time.monotonic())

    def hold(self, held: list[Held]) -> None:
        """Hold exactly these positions, as they stand in the table, with the care that each needs."""
        known = {(each.position_id, each.epoch): self.care[each.position_id] for each in self.held}
        self.care = {
            each.position_id: known.get((each.position_id, each.epoch)) or Care.of(each.caution, self._pace.chunk_size)
            for each in held
        }
        self._settled = {each.position_id: (each.position, self.care[each.position_id].caution) for each in held}
        self.held = held

    def all_lanes(self) -> dict[int, Held]:
        return {lane: held for held in self.held for lane in held.lanes}

    def drop(self, held: Held) -> None:
        """Forget a position that belongs to somebody else by now."""
        self._tell.fenced(held)
        self.held.remove(held)

    def leave(self) -> None:
        """Settle, give everything back, and end."""
        self.settle()
        self._lanes.leave(self.held)
        self.close()

    # Positions

    def is_behind(self) -> bool:
        """Tell whether a pass is in hand, so that there is more to read at once."""
        return any(held.position.target is not None for held in self.held)

    def moved(self, held: Held, position: Position, count: int) -> None:
        """Remember that so many rows are dealt with."""
        self.held[self.held.index(held)] = held.at(position)
        self._published_since_settle += count

    def settle_is_due(self) -> bool:
        return self._published_since_settle > 0 and time.monotonic() >= self._next_settle

    def settle(self) -> None:
        """Write down the positions that have moved; drop those that belong to somebody else by now."""
        drawn = place.last_drawn_id(self.database)
        wrote = False
        kept = []
        for held in self.held:
            before, now = self._settled.get(held.position_id), (held.position, self.care[held.position_id].caution)
            if not _worth_writing(before, now, self._published_since_settle):
                kept.append(held)
            elif self._write(held, *now):
                wrote = True
                kept.append(held)
                self._settled[held.position_id] = now
            else:
                self._tell.fenced(held)
        self.held = kept
        if wrote:
            self.sequence_floor = max(self.sequence_floor, drawn)
        self._published_since_settle = 0
        self._next_settle = time.monotonic() + self._pace.settle_seconds

    def put_away(
        self, held: Held, position: Position, parked: Parked | None, behind: Sequence[Row], passed: int
    ) -> None:
        """Write the position down at once, together with the rows that it passes unpublished. Raises FencedError."""
        care = self.care[held.position_id]
        if passed:
            care.moved(passed)
        else:
            care.caution = care.caution.relieved()
        self.parking.settle(held, position, care.caution, parked, behind)
        self._settled[held.position_id] = (position, care.caution)
        self._tell.put_away(held, parked, behind)

    def _write(self, held: Held, position: Position, caution: Caution) -> bool:
        return place.settle(self.database, held.position_id, self._name, held.epoch, position, caution)

    def _tell_backlog(self) -> None:
        """Say how much is pending on all lanes, whoever holds them: their owner may not be there to say it."""
        begun = time.monotonic()
        if begun >= self._next_count:
            self._tell.backlog(backlogs(self.database.execute, COUNT_AT_MOST))
            self._next_count = time.monotonic() + max(BACKLOG_SECONDS, 50 * (time.monotonic() - begun))


def _let_go_when_hanging(database: Database, pace: Pace) -> None:
    """Have the server end a session that stands still inside a transaction.

    A process that is stopped there would keep its rows locked, and nobody could take its lanes when their lease ends.
    """
    milliseconds = round(pace.lease_seconds * 500)
    database.execute("SELECT set_config('idle_in_transaction_session_timeout', %s, false)", [f"{milliseconds}ms"])


def _worth_writing(before: tuple[Position, Caution] | None, now: tuple[Position, Caution], published: int) -> bool:
    """An idle relay sees a new snapshot at every poll; it writes only what spares a restarted one some work."""
    if before is None or before[1] != now[1]:
        return True
    if before == now:
        return False
    return published > 0 or now[0].floor_id > before[0].floor_id or now[0].target != before[0].target
