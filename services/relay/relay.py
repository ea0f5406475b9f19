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
from functools import partial
from typing import Final

from services.relay import position as place
from services.relay.appetite import Appetite
from services.relay.caution import CALM
from services.relay.errors import CONNECTION_LOST, StandbyError
from services.relay.lanes import Held
from services.relay.pace import Pace
from services.relay.position import Database, Position, Row
from services.relay.read_ahead import ReadAhead
from services.relay.redrive import redrive
from services.relay.sending import Sender
from services.relay.session import Session
from services.relay.telling import Teller
from services.relay.transports import Transport
from shared import wakeup
from shared.errors import FencedError
from shared.failpoints import Failpoint, reach
from shared.retry import Backoff

STOP_SECONDS: Final = 0.25
"""A relay that waits for signals looks so often whether it is to stop."""


class Relay:
    """One relay of one destination. To be run by one thread."""

    session_type: type[Session] = Session

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
        self._destination = destination
        self._name = name
        self._pace = pace
        self._tell = Teller(name, destination)
        self._sender = Sender(transport, destination, pace, self._tell)
        self._session: Session | None = None
        self._appetite = Appetite(pace.chunk_size)
        self._ahead = ReadAhead()
        self._database_backoff = Backoff(first_seconds=0.1, ceiling_seconds=2.0)
        self._delay = pace.idle_poll_seconds
        self._rest = 0.0

    def run(self, stop: threading.Event) -> None:
        """Relay until stopped; the chunk in hand is finished and settled, and the lanes are given back."""
        while not stop.is_set():
            self._wait(stop, self.step())
        self._leave()

    def _wait(self, stop: threading.Event, seconds: float) -> None:
        """Wait until the time is over, a writer says that it has committed, or the relay is to stop.

        While it rests it does not listen: a signal that comes then is heard afterwards.
        """
        end = time.monotonic() + seconds
        stop.wait(min(seconds, self._rest))
        try:
            while self._session is not None and not stop.is_set() and (left := end - time.monotonic()) > 0:
                if wakeup.wait_for_signal(self._session.database, min(left, STOP_SECONDS)):
                    self._delay = 0.0
                    end = min(end, time.monotonic() + self._sender.breaker.remaining())
        except CONNECTION_LOST as error:
            end = time.monotonic() + self._lose_connection(error)
        stop.wait(max(0.0, end - time.monotonic()))

    def step(self) -> float:
        """Do one unit of work, at most one chunk per position held. Returns the seconds to wait before the next."""
        try:
            moved = self._work()
        except (*CONNECTION_LOST, StandbyError) as error:
            return self._lose_connection(error)
        self._database_backoff.reset()
        # Quick while events come, ever slower while none do: an idle relay costs next to nothing.
        self._rest = self._pace.rest_seconds(moved)
        self._delay = 0.0 if moved else min(self._pace.idle_poll_seconds, self._delay * 1.5 + 0.001)
        return self._pause()

    def _pause(self) -> float:
        """Return how long there is nothing to do. A renewal is not late because of it."""
        assert self._session is not None
        if self._sender.breaker.is_open:
            pause = max(self._pace.poll_seconds, self._sender.breaker.remaining())
        else:
            pause = 0.0 if self._session.is_behind() else max(self._pace.poll_seconds, self._rest, self._delay)
        return max(0.0, min(pause, self._session.until_renewal_seconds()))

    def drain_once(self) -> int:
        """Publish what is committed now, settle it, give the lanes back, and return how many rows that was.

        For a caller that comes again by the clock. Its clients stay open.
        """
        total = quiet = 0
        while quiet < 2:
            count = self._work()
            total += count
            if not count and self._sender.breaker.is_open:
                break
            # Once is not enough: a pass that was taken over half-way may end empty before the next one begins.
            quiet = 0 if count or self._is_behind() else quiet + 1
        self._give_back()
        return total

    def _work(self) -> int:
        session = self._session or self._open()
        if session.renewal_is_due():
            self._renew(session)
        if self._sender.breaker.blocks():
            return 0
        moved = self._redrive(session) + self._advance_all(session) if session.held else 0
        if not moved:
            self._sender.ask(session)
        if session.settle_is_due():
            session.settle()
        return moved

    def _is_behind(self) -> bool:
        return self._session is not None and self._session.is_behind()

    # The session's begin and end

    def _open(self) -> Session:
        self._session = self.session_type.open(
            self._connect, destination=self._destination, name=self._name, pace=self._pace, tell=self._tell
        )
        self._sender.open()
        return self._session

    def _renew(self, session: Session) -> None:
        session.renew()

    def _lose_connection(self, error: Exception) -> float:
        """Forget everything. Returns the seconds to wait before the next try."""
        self._ahead.forget()
        if self._session is not None:
            self._session.close()
            self._session = None
        delay = self._database_backoff.next()
        self._tell.database_away(error, delay)
        return delay

    def _give_back(self) -> None:
        """Settle, free the lanes and forget the session."""
        self._ahead.forget()
        if self._session is not None:
            self._session.leave()
            self._session = None

    def _leave(self) -> None:
        try:
            self._give_back()
        except CONNECTION_LOST as error:
            self._tell.left_unsettled(error)
        self._ahead.close()
        self._sender.close()

    # Read, publish, move on

    def _advance_all(self, session: Session) -> int:
        """Move every position on by one chunk towards what is visible now."""
        target, floor_id = self._look(session)
        moved = 0
        for held in list(session.held):
            if held.position.target is None and held.position.done == target:
                continue
            if self._sender.breaker.blocks():
                break
            try:
                position, count = self._advance(session, held, held.position.begin(target, floor_id))
            except FencedError:
                session.drop(held)
                continue
            session.moved(held, position, count)
            moved += count
        return moved

    def _look(self, session: Session) -> tuple[str, int]:
        """Return what is visible now, and an id up to which nothing can be missing from it unseen."""
        return place.current_snapshot(session.database), session.sequence_floor

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
        published = self._sender.send(session, held, position, free)
        reach(Failpoint.RELAY_AFTER_PUBLISH_BEFORE_SETTLE)
        self._tell.chunk_took(time.monotonic() - begun)
        parked = self._sender.judge(session, held, free, published)
        passed = _passed(rows, free, published.count + (parked is not None))
        if passed == len(rows) < size:
            position = position.finish()
        elif passed:
            position = position.advance(rows[passed - 1].id)
        if len(free) < len(rows) or parked is not None or care.caution != CALM:
            behind = [row for row in rows[:passed] if session.parking.blocks(row)]
            session.put_away(held, position, parked, behind, passed)
        elif passed:
            care.moved(passed)
        return position, passed

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

    def _chunk_size(self, session: Session, held: Held) -> int:
        return min(self._appetite.rows, session.care[held.position_id].chunk_size(self._pace.chunk_size))

    def _read(self, session: Session, held: Held, position: Position, size: int) -> list[Row]:
        return place.read(session.database, position, self._destination, held.lanes, size)

    def _redrive(self, session: Session) -> int:
        """Send again what a person has asked for, and what is no longer held by anything."""
        if not session.parking:
            return 0
        return redrive(session.parking, session.all_lanes(), partial(self._sender.send_again, session))


def _passed(rows: Sequence[Row], free: Sequence[Row], done: int) -> int:
    """Return how many rows lie before the first that was free to go and did not; held ones between them count."""
    return len(rows) if done == len(free) else rows.index(free[done])
