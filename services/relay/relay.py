"""The relay's loop: read a chunk in order, publish it, and only then count it as done.

Invariant: the position moves over a row only after its delivery report, so a crash anywhere leads to rows published
again, never to rows left out. Per aggregate, first copies stand in the log in version order, with any number of relays.

Not promised: that a row is published once. Between the report and the settle there is a moment in which a crash makes a
duplicate; consumers have an inbox for it.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from prometheus_client import Counter, Gauge, Histogram
from psycopg import InterfaceError, OperationalError

from services.relay import identity
from services.relay import position as place
from services.relay.errors import StandbyError
from services.relay.lanes import Held, Lanes, fair_share
from services.relay.position import Database, Position, Row
from services.relay.transports import Transport
from shared.failpoints import Failpoint, reach
from shared.logs import get_logger
from shared.retry import Backoff

PUBLISHED = Counter("outbox_events_published_total", "Rows acknowledged by their receiver", ["destination"])
FAILED = Counter("outbox_chunks_failed_total", "Chunks that their receiver did not take whole", ["destination"])
CHUNK_SECONDS = Histogram("outbox_batch_duration_seconds", "From reading a chunk to its last report", ["destination"])
LANES_OWNED = Gauge("relay_lanes_owned", "Lanes that this relay holds", ["destination"])
BREAKER_OPEN = Gauge("relay_breaker_state", "1 while the receiver is away and waited for", ["destination"])

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a relay works. The produce deadline lies inside the lease, and renewal well before both."""

    chunk_size: int = 1000
    lease_seconds: float = 6.0
    renew_seconds: float = 1.5
    produce_deadline_seconds: float = 4.0
    poll_seconds: float = 0.005
    idle_poll_seconds: float = 0.1
    settle_seconds: float = 0.2


@dataclass(slots=True)
class _Session:
    """What a relay holds in memory. It ends with its connection: after a loss the table is read again."""

    database: Database
    lanes: Lanes
    held: list[Held] = field(default_factory=list)
    sequence_floor: int = 0
    settled: dict[int, Position] = field(default_factory=dict)
    published_since_settle: int = 0
    next_renewal: float = 0.0
    next_settle: float = 0.0
    lease_ends: float = 0.0


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
        self._session: _Session | None = None
        self._broker_backoff = Backoff(first_seconds=0.1, ceiling_seconds=2.0)
        self._database_backoff = Backoff(first_seconds=0.1, ceiling_seconds=2.0)
        self._blocked_until = 0.0
        self._delay = pace.idle_poll_seconds

    def run(self, stop: threading.Event) -> None:
        """Relay until stopped; the chunk in hand is finished and settled, and the lanes are given back."""
        while not stop.is_set():
            stop.wait(self.step())
        self._leave()

    def step(self) -> float:
        """Do one unit of work, at most one chunk per position held. Returns the seconds to wait before the next."""
        try:
            published = self._work()
        except (OperationalError, InterfaceError, StandbyError) as error:
            return self._lose_connection(error)
        self._database_backoff.reset()
        # Quick while events come, ever slower while none do: an idle relay costs next to nothing.
        self._delay = 0.0 if published else min(self._pace.idle_poll_seconds, self._delay * 1.5 + 0.001)
        return max(self._pace.poll_seconds, self._delay)

    def drain_once(self) -> int:
        """Publish what is committed now, settle it, give the lanes back, and return how many rows that was.

        For a caller that comes again by the clock. Its clients stay open.
        """
        total = 0
        while count := self._work():
            total += count
        self._give_back()
        return total

    def _work(self) -> int:
        session = self._session or self._open()
        if time.monotonic() >= session.next_renewal:
            self._renew(session)
        if time.monotonic() < self._blocked_until or not session.held:
            return 0
        published = self._advance_all(session)
        if session.published_since_settle and time.monotonic() >= session.next_settle:
            self._settle(session)
        return published

    # Session and leases

    def _open(self) -> _Session:
        database = self._connect()
        try:
            identity.check(database)
        except BaseException:
            database.close()
            raise
        self._transport.open()
        lanes = Lanes(database, self._destination, self._name, self._pace.lease_seconds)
        self._session = _Session(database, lanes)
        return self._session

    def _renew(self, session: _Session) -> None:
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
        self._tell_change(session.held, held)
        session.held = held
        session.settled = {each.position_id: each.position for each in held}

    def _lose_connection(self, error: Exception) -> float:
        # What was remembered may be ahead of the table, and after a crash of the server even ahead of its memory.
        if self._session is not None:
            self._session.database.close()
            self._session = None
        delay = self._database_backoff.next()
        log.warning(
            "database away, positions forgotten",
            relay=self._name,
            destination=self._destination,
            retry_in_seconds=round(delay, 3),
            detail=str(error).splitlines()[0] if str(error) else type(error).__name__,
        )
        return delay

    def _give_back(self) -> None:
        """Settle, free the lanes and forget the session."""
        if self._session is not None:
            self._settle(self._session)
            self._session.lanes.leave(self._session.held)
            self._session.database.close()
            self._session = None

    def _leave(self) -> None:
        try:
            self._give_back()
        except (OperationalError, InterfaceError) as error:
            log.warning("left without settling", relay=self._name, destination=self._destination, detail=str(error))
        self._transport.close()

    # Read, publish, settle

    def _advance_all(self, session: _Session) -> int:
        """Move every position on by one chunk towards what is visible now."""
        target, floor_id = self._look(session)
        published = 0
        for index, held in enumerate(session.held):
            if held.position.target is None and held.position.done == target:
                continue
            if time.monotonic() < self._blocked_until:
                break
            position, count = self._advance(session, held, held.position.begin(target, floor_id))
            session.held[index] = held.at(position)
            session.published_since_settle += count
            published += count
        return published

    def _look(self, session: _Session) -> tuple[str, int]:
        """Return what is visible now, and an id up to which nothing can be missing from it unseen."""
        return place.current_snapshot(session.database), session.sequence_floor

    def _read(self, session: _Session, held: Held, position: Position) -> list[Row]:
        return place.read(session.database, position, self._destination, held.lanes, self._pace.chunk_size)

    def _advance(self, session: _Session, held: Held, position: Position) -> tuple[Position, int]:
        begun = time.monotonic()
        rows = self._read(session, held, position)
        if rows:
            reach(Failpoint.RELAY_AFTER_READ_BEFORE_PUBLISH)
            count = self._publish(session, held, rows)
            reach(Failpoint.RELAY_AFTER_PUBLISH_BEFORE_SETTLE)
            CHUNK_SECONDS.labels(self._destination).observe(time.monotonic() - begun)
            if count < len(rows):
                return (position.advance(rows[count - 1].id) if count else position), count
        if len(rows) < self._pace.chunk_size:
            return position.finish(), len(rows)
        return position.advance(rows[-1].id), len(rows)

    def _publish(self, session: _Session, held: Held, rows: Sequence[Row]) -> int:
        # By our own clock the lease must outlast the deadline; a renewal that is late is made up for first.
        remaining = session.lease_ends - time.monotonic()
        deadline = min(self._pace.produce_deadline_seconds, remaining)
        if deadline <= 0:
            return 0
        published = self._transport.publish(rows, deadline)
        if published.count:
            PUBLISHED.labels(self._destination).inc(published.count)
            self._tell_published(held, rows, published.count)
        if published.error is None:
            self._broker_backoff.reset()
            BREAKER_OPEN.labels(self._destination).set(0)
        else:
            self._open_breaker(held, len(rows), published.count, published.error)
        return published.count

    def _open_breaker(self, held: Held, expected: int, count: int, reason: str) -> None:
        """The receiver is away: wait, however long. Nothing is parked and no attempt is counted for it."""
        delay = self._broker_backoff.next()
        self._blocked_until = time.monotonic() + delay
        FAILED.labels(self._destination).inc()
        BREAKER_OPEN.labels(self._destination).set(1)
        log.warning(
            "chunk not acknowledged",
            relay=self._name,
            destination=self._destination,
            epoch=held.epoch,
            rows=expected,
            acknowledged=count,
            retry_in_seconds=round(delay, 3),
            detail=reason,
        )

    def _settle(self, session: _Session) -> None:
        """Write down the positions that have moved; drop those that belong to somebody else by now."""
        drawn = place.last_drawn_id(session.database)
        wrote = False
        kept = []
        for held in session.held:
            before = session.settled.get(held.position_id)
            if not _worth_writing(before, held.position, session.published_since_settle):
                kept.append(held)
            elif place.settle(session.database, held.position_id, self._name, held.epoch, held.position):
                wrote = True
                kept.append(held)
                session.settled[held.position_id] = held.position
            else:
                log.warning("fenced", relay=self._name, destination=self._destination, epoch=held.epoch)
        session.held = kept
        if wrote:
            session.sequence_floor = max(session.sequence_floor, drawn)
        session.published_since_settle = 0
        session.next_settle = time.monotonic() + self._pace.settle_seconds

    # Telling

    def _tell_published(self, held: Held, rows: Sequence[Row], count: int) -> None:
        log.info(
            "chunk published",
            relay=self._name,
            destination=self._destination,
            epoch=held.epoch,
            lanes=held.lanes,
            first_id=rows[0].id,
            last_id=rows[count - 1].id,
            count=count,
        )

    def _tell_change(self, before: Sequence[Held], after: Sequence[Held]) -> None:
        lanes = sorted(lane for held in after for lane in held.lanes)
        LANES_OWNED.labels(self._destination).set(len(lanes))
        if lanes != sorted(lane for held in before for lane in held.lanes):
            log.info(
                "lanes changed",
                relay=self._name,
                destination=self._destination,
                lanes=lanes,
                epochs=[held.epoch for held in after],
            )


def _worth_writing(before: Position | None, now: Position, published: int) -> bool:
    """An idle relay sees a new snapshot at every poll; it writes only what spares a restarted one some work."""
    if before == now:
        return False
    return published > 0 or before is None or now.floor_id > before.floor_id or now.target != before.target
