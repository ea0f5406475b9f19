"""The relay's loop: read a chunk in order, publish it, and only then count it as done.

Invariant: the position moves over a row only after its delivery report, or together with its entry in the parking lot.
So a crash anywhere leads to rows published again, never to rows left out. Per aggregate, first copies stand in the log
in version order, with any number of relays.

Not promised: that a row is published once. Between the report and the settle there is a moment in which a crash makes a
duplicate; consumers have an inbox for it.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from opentelemetry.trace import SpanKind
from psycopg import InterfaceError, OperationalError

from services.relay import identity
from services.relay import position as place
from services.relay.appetite import Appetite
from services.relay.breaker import Breaker
from services.relay.caution import CALM, LONE_TRIES, Care, Caution
from services.relay.errors import StandbyError
from services.relay.failures import ATTEMPTS, Fault
from services.relay.lanes import Held, Lanes, fair_share
from services.relay.parking import Parked, Parking
from services.relay.position import Database, Position, Row
from services.relay.read_ahead import ReadAhead
from services.relay.redrive import redrive
from services.relay.telling import Teller
from services.relay.transports import Published, Transport
from shared import wakeup
from shared.backlog import backlogs
from shared.errors import FencedError
from shared.failpoints import Failpoint, reach
from shared.retry import Backoff
from shared.tracing import batch_span

PROBE_SECONDS: Final = 1.0
STOP_SECONDS: Final = 0.25
"""A relay that waits for signals looks so often whether it is to stop."""
BACKLOG_SECONDS: Final = 5.0
COUNT_AT_MOST: Final = 100_000


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a relay works. The produce deadline lies inside the lease, and renewal well before both."""

    chunk_size: int = 5000
    lease_seconds: float = 6.0
    renew_seconds: float = 1.5
    produce_deadline_seconds: float = 4.0
    poll_seconds: float = 0.005
    idle_poll_seconds: float = 1.0
    settle_seconds: float = 0.2


@dataclass(slots=True)
class Session:
    """What a relay holds in memory. It ends with its connection: after a loss the table is read again."""

    database: Database
    lanes: Lanes
    parking: Parking
    held: list[Held] = field(default_factory=list)
    care: dict[int, Care] = field(default_factory=dict)
    sequence_floor: int = 0
    settled: dict[int, tuple[Position, Caution]] = field(default_factory=dict)
    published_since_settle: int = 0
    next_renewal: float = 0.0
    next_settle: float = 0.0
    lease_ends: float = 0.0
    next_count: float = 0.0

    def hold(self, held: list[Held], rows: int) -> None:
        """Hold exactly these positions, as they stand in the table, with the care that each needs."""
        known = {(each.position_id, each.epoch): self.care[each.position_id] for each in self.held}
        self.care = {
            each.position_id: known.get((each.position_id, each.epoch)) or Care.of(each.caution, rows) for each in held
        }
        self.settled = {each.position_id: (each.position, self.care[each.position_id].caution) for each in held}
        self.held = held

    def all_lanes(self) -> dict[int, Held]:
        return {lane: held for held in self.held for lane in held.lanes}


class Relay:
    """One relay of one destination. To be run by one thread."""

    def __init__(
        self,
        *,
        connect: Callable[[], Database],
        transport: Transport,
        destination: str,
        name: str,
        pace: Pace,
    ) -> None:
        self._connect = connect
        self._transport = transport
        self._destination = destination
        self._name = name
        self._pace = pace
        self._session: Session | None = None
        self._breaker = Breaker()
        self._appetite = Appetite(pace.chunk_size)
        self._ahead = ReadAhead()
        self._database_backoff = Backoff(first_seconds=0.1, ceiling_seconds=2.0)
        self._delay = pace.idle_poll_seconds
        self._tell = Teller(name, destination)

    def run(self, stop: threading.Event) -> None:
        """Relay until stopped; the chunk in hand is finished and settled, and the lanes are given back."""
        while not stop.is_set():
            self._wait(stop, self.step())
        self._leave()

    def _wait(self, stop: threading.Event, seconds: float) -> None:
        """Wait until the time is over, a writer says that it has committed, or the relay is to stop."""
        end = time.monotonic() + seconds
        try:
            while self._session is not None and not stop.is_set() and (left := end - time.monotonic()) > 0:
                if wakeup.wait_for_signal(self._session.database, min(left, STOP_SECONDS)):
                    self._delay = 0.0
                    end = min(end, time.monotonic() + self._breaker.remaining())
        except (OperationalError, InterfaceError) as error:
            end = time.monotonic() + self._lose_connection(error)
        stop.wait(max(0.0, end - time.monotonic()))

    def step(self) -> float:
        """Do one unit of work, at most one chunk per position held. Returns the seconds to wait before the next."""
        try:
            moved = self._work()
        except (OperationalError, InterfaceError, StandbyError) as error:
            return self._lose_connection(error)
        self._database_backoff.reset()
        # Quick while events come, ever slower while none do: an idle relay costs next to nothing.
        self._delay = 0.0 if moved else min(self._pace.idle_poll_seconds, self._delay * 1.5 + 0.001)
        if self._breaker.is_open:
            return max(self._pace.poll_seconds, self._breaker.remaining())
        return 0.0 if self._is_behind() else max(self._pace.poll_seconds, self._delay)

    def drain_once(self) -> int:
        """Publish what is committed now, settle it, give the lanes back, and return how many rows that was.

        For a caller that comes again by the clock. Its clients stay open.
        """
        total = quiet = 0
        while quiet < 2:
            count = self._work()
            total += count
            if not count and self._breaker.is_open:
                break
            # Once is not enough: a pass that was taken over half-way may end empty before the next one begins.
            quiet = 0 if count or self._is_behind() else quiet + 1
        self._give_back()
        return total

    def _work(self) -> int:
        session = self._session or self._open()
        if time.monotonic() >= session.next_renewal:
            self._renew(session)
        if self._breaker.blocks() or not session.held:
            return 0
        moved = self._redrive(session) + self._advance_all(session)
        if session.published_since_settle and time.monotonic() >= session.next_settle:
            self._settle(session)
        return moved

    def _is_behind(self) -> bool:
        """Tell whether a pass is in hand, so that there is more to read at once."""
        return self._session is not None and any(held.position.target is not None for held in self._session.held)

    # Session and leases

    def _open(self) -> Session:
        database = self._connect()
        try:
            place.look_by_index(database)
            identity.check(database)
        except BaseException:
            database.close()
            raise
        wakeup.listen(database)
        self._transport.open()
        lanes = Lanes(database, self._destination, self._name, self._pace.lease_seconds)
        self._session = Session(database, lanes, Parking(database, self._destination, self._name))
        return self._session

    def _renew(self, session: Session) -> None:
        """Show that this relay lives, extend its leases, and take or give lanes for a fair share."""
        begun = time.monotonic()
        drawn = place.last_drawn_id(session.database)
        living = session.lanes.show_alive()
        session.sequence_floor = drawn  # a write of our own has committed since it was read
        self._settle(session)
        held = session.lanes.renew(session.held)
        # Counted from before the first statement: by our own clock the lease never ends later than by the table's.
        session.lease_ends = begun + self._pace.lease_seconds
        session.next_renewal = begun + self._pace.renew_seconds
        share = fair_share(living)
        taken = session.lanes.take(held, share)
        held = session.lanes.merge(session.lanes.share_out(held + taken, share))
        self._tell.taken(taken)
        self._tell.lanes(session.held, held)
        session.hold(held, self._pace.chunk_size)
        session.parking.look(session.all_lanes())
        self._tell.in_lot(session.parking.counts(session.all_lanes()))
        self._tell_backlog(session)

    def _tell_backlog(self, session: Session) -> None:
        """Say how much is pending on all lanes, whoever holds them: their owner may not be there to say it."""
        begun = time.monotonic()
        if begun >= session.next_count:
            self._tell.backlog(backlogs(session.database.execute, COUNT_AT_MOST))
            session.next_count = time.monotonic() + max(BACKLOG_SECONDS, 50 * (time.monotonic() - begun))

    def _lose_connection(self, error: Exception) -> float:
        self._ahead.forget()
        # What was remembered may be ahead of the table, and after a crash of the server even ahead of its memory.
        if self._session is not None:
            self._session.database.close()
            self._session = None
        delay = self._database_backoff.next()
        self._tell.database_away(error, delay)
        return delay

    def _give_back(self) -> None:
        """Settle, free the lanes and forget the session."""
        self._ahead.forget()
        if self._session is not None:
            self._settle(self._session)
            self._session.lanes.leave(self._session.held)
            self._session.database.close()
            self._session = None

    def _leave(self) -> None:
        try:
            self._give_back()
        except (OperationalError, InterfaceError) as error:
            self._tell.left_unsettled(error)
        self._ahead.close()
        self._transport.close()

    # Read, publish, settle

    def _advance_all(self, session: Session) -> int:
        """Move every position on by one chunk towards what is visible now."""
        target, floor_id = self._look(session)
        moved = 0
        for held in list(session.held):
            if held.position.target is None and held.position.done == target:
                continue
            if self._breaker.blocks():
                break
            try:
                position, count = self._advance(session, held, held.position.begin(target, floor_id))
            except FencedError:
                self._tell.fenced(held)
                session.held.remove(held)
                continue
            session.held[session.held.index(held)] = held.at(position)
            session.published_since_settle += count
            moved += count
        return moved

    def _look(self, session: Session) -> tuple[str, int]:
        """Return what is visible now, and an id up to which nothing can be missing from it unseen."""
        return place.current_snapshot(session.database), session.sequence_floor

    def _read(self, session: Session, held: Held, position: Position, size: int) -> list[Row]:
        return place.read(session.database, position, self._destination, held.lanes, size)

    def _chunk_size(self, session: Session, held: Held) -> int:
        return min(self._appetite.rows, session.care[held.position_id].chunk_size(self._pace.chunk_size))

    def _next_chunk(self, session: Session, held: Held, position: Position) -> list[Row]:
        """Return the rows behind the position, and begin to read those that will follow them."""
        size = self._chunk_size(session, held)
        rows = self._ahead.take(
            (held.lanes, held.epoch, position, size), partial(self._read, session, held, position, size)
        )
        self._appetite.had(rows)
        if len(rows) == size and session.care[held.position_id].caution == CALM:
            following, size = position.advance(rows[-1].id), self._chunk_size(session, held)
            # The size is fixed here: read with a smaller one, a chunk would look like the end of the pass.
            self._ahead.start(
                (held.lanes, held.epoch, following, size), partial(self._read, session, held, following, size)
            )
        return rows

    def _advance(self, session: Session, held: Held, position: Position) -> tuple[Position, int]:
        """Move one position on by one chunk. Returns where it stands then, and how many rows that were."""
        begun = time.monotonic()
        care, size = session.care[held.position_id], self._chunk_size(session, held)
        rows = self._next_chunk(session, held, position)
        if not rows:
            care.rested()
            return position.finish(), 0
        reach(Failpoint.RELAY_AFTER_READ_BEFORE_PUBLISH)
        free = [row for row in rows if not session.parking.blocks(row)] if session.parking else rows
        published = self._try(session, held, position, free)
        reach(Failpoint.RELAY_AFTER_PUBLISH_BEFORE_SETTLE)
        self._tell.chunk_took(time.monotonic() - begun)
        parked = self._judge(session, held, free, published)
        passed = _passed(rows, free, published.count + (parked is not None))
        if passed == len(rows) < size:
            position = position.finish()
        elif passed:
            position = position.advance(rows[passed - 1].id)
        if len(free) < len(rows) or parked is not None or care.caution != CALM:
            behind = [row for row in rows[:passed] if session.parking.blocks(row)]
            self._put_away(session, held, position, parked, behind, passed)
        elif passed:
            care.moved(passed)
        return position, passed

    def _try(self, session: Session, held: Held, position: Position, rows: Sequence[Row]) -> Published:
        """Publish rows; the one that is suspected of having killed relays only once that is written down."""
        care = session.care[held.position_id]
        if rows and care.caution.is_alone(self._pace.chunk_size):
            if care.caution.condemns(rows[0].id):
                return Published(0, f"the relay that sent it alone ended, {LONE_TRIES} times", Fault.ROW)
            silence = self._transport.probe(self._deadline(session))
            if silence is not None:
                return Published(0, silence)
            care.caution = care.caution.trying(rows[0].id)
            session.parking.settle(held, position, care.caution, None, [])
        return self._publish(session, held, rows) if rows else Published(0)

    def _publish(self, session: Session, held: Held, rows: Sequence[Row]) -> Published:
        deadline = self._deadline(session)
        if deadline <= 0:
            return Published(0)  # a renewal that is late is made up for first
        silence = self._transport.probe(min(PROBE_SECONDS, deadline)) if self._breaker.is_open else None
        if silence is not None:
            return Published(0, silence)
        with batch_span(
            f"{self._destination} publish", SpanKind.PRODUCER, (row.traceparent for row in rows), events=len(rows)
        ):
            published = self._transport.publish(rows, self._deadline(session))
        if published.count:
            self._tell.published(held, rows, published.count)
        return published

    def _deadline(self, session: Session) -> float:
        """Return how long to wait for reports: by our own clock the lease has to outlast it."""
        return min(self._pace.produce_deadline_seconds, session.lease_ends - time.monotonic())

    def _judge(self, session: Session, held: Held, rows: Sequence[Row], published: Published) -> Parked | None:
        """Do what the fault asks for. Returns the row that is at fault for good."""
        care = session.care[held.position_id]
        if published.error is not None and published.fault is Fault.RECEIVER:
            delay = self._breaker.trip()
            self._tell.receiver_away(held, len(rows), published, delay)
            return None
        if rows and (published.count or published.error):
            self._breaker.close()
            self._tell.receiver_answers()
        if published.error is None:
            return None
        row = rows[published.count]
        if published.fault is Fault.SUSPECTS:
            care.suspects = len(rows) - published.count
        else:
            care.refusals = 1 if published.count else care.refusals + 1
        self._tell.refused(held, row, published, care.refusals)
        certain = published.fault is Fault.ROW or (published.fault is Fault.REFUSED and care.refusals >= ATTEMPTS)
        return Parked(row, published.error, care.refusals) if certain else None

    def _put_away(
        self,
        session: Session,
        held: Held,
        position: Position,
        parked: Parked | None,
        behind: Sequence[Row],
        passed: int,
    ) -> None:
        """Write the position down at once, together with the rows that it passes unpublished. Raises FencedError."""
        care = session.care[held.position_id]
        if passed:
            care.moved(passed)
        else:
            care.caution = care.caution.relieved()
        session.parking.settle(held, position, care.caution, parked, behind)
        session.settled[held.position_id] = (position, care.caution)
        self._tell.put_away(held, parked, behind)

    def _redrive(self, session: Session) -> int:
        """Send again what a person has asked for, and what is no longer held by anything."""

        def publish(held: Held, row: Row) -> Published:
            published = self._publish(session, held, [row])
            self._judge_redriven(held, row, published)
            return published

        return redrive(session.parking, session.all_lanes(), publish) if session.parking else 0

    def _judge_redriven(self, held: Held, row: Row, published: Published) -> None:
        if published.error is None:
            return
        if published.fault is Fault.RECEIVER:
            self._tell.receiver_away(held, 1, published, self._breaker.trip())
        else:
            self._tell.refused(held, row, published, attempt=1)

    def _settle(self, session: Session) -> None:
        """Write down the positions that have moved; drop those that belong to somebody else by now."""
        drawn = place.last_drawn_id(session.database)
        wrote = False
        kept = []
        for held in session.held:
            before, now = session.settled.get(held.position_id), (held.position, session.care[held.position_id].caution)
            if not _worth_writing(before, now, session.published_since_settle):
                kept.append(held)
            elif place.settle(session.database, held.position_id, self._name, held.epoch, *now):
                wrote = True
                kept.append(held)
                session.settled[held.position_id] = now
            else:
                self._tell.fenced(held)
        session.held = kept
        if wrote:
            session.sequence_floor = max(session.sequence_floor, drawn)
        session.published_since_settle = 0
        session.next_settle = time.monotonic() + self._pace.settle_seconds


def _passed(rows: Sequence[Row], free: Sequence[Row], done: int) -> int:
    """Return how many rows lie before the first that was free to go and did not; held ones between them count."""
    return len(rows) if done == len(free) else rows.index(free[done])


def _worth_writing(before: tuple[Position, Caution] | None, now: tuple[Position, Caution], published: int) -> bool:
    """An idle relay sees a new snapshot at every poll; it writes only what spares a restarted one some work."""
    if before is None or before[1] != now[1]:
        return True
    if before == now:
        return False
    return published > 0 or now[0].floor_id > before[0].floor_id or now[0].target != before[0].target
