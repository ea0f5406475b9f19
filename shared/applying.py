"""Apply deliveries behind the inbox and beside the parking lot: together, apart, or one that was parked, again.

Invariant: in the one transaction that the caller owns, each delivery either has its effect and its inbox row, or goes
to the lot and has none, or was known. A failure of one is never charged to another: what fails together is tried apart,
between savepoints, until the culprit stands alone.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from sqlalchemy import Connection, Engine

from shared import database
from shared.clock import utc_now
from shared.consumer_parking import MOST_TRIES, Aside, Parking, words
from shared.dedup_window import DedupWindow
from shared.errors import PermanentError
from shared.failpoints import Failpoint, reach
from shared.failures import Failure, failure_of
from shared.inbox import Delivery, Inbox
from shared.receiving import Received, Unreadable
from shared.suspect import parts

Handler = Callable[[Connection, Sequence[Delivery]], None]
"""Applies new deliveries, in log order within each partition. Raises on trouble; never commits."""

Read = Callable[[Delivery], None]
"""Finds out, from the delivery alone, whether it can ever be applied. Raises PermanentError if not."""


def read_payload(delivery: Delivery) -> None:
    """Read no more than the payload's shape."""
    _ = delivery.payload


class CulpritError(Exception):
    """One delivery, alone, made the handler fail in a way that nobody foresaw; the cause is that failure."""

    def __init__(self, received: Received) -> None:
        super().__init__(f"{received.topic}[{received.partition}] offset {received.offset}")
        self.received = received


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a batch. What is in none of the lists was known before, to the inbox or to the lot."""

    applied: tuple[Delivery, ...] = ()
    parked: tuple[Received, ...] = ()
    held: tuple[Received, ...] = ()

    def __add__(self, other: "Outcome") -> "Outcome":
        return Outcome(self.applied + other.applied, self.parked + other.parked, self.held + other.held)


@contextmanager
def effects(engine: Engine) -> Iterator[Connection]:
    """Open the one transaction of inbox, effects and lot."""
    with database.transaction(engine) as connection:
        yield connection
        reach(Failpoint.CONSUMER_AFTER_EFFECT_BEFORE_COMMIT)


@dataclass(slots=True)
class _Sorted:
    ready: list[Delivery] = field(default_factory=list)
    asides: list[Aside] = field(default_factory=list)


class Applier:
    """Writes through the caller's connection; never commits."""

    def __init__(
        self, *, inbox: Inbox, handler: Handler, parking: Parking, read: Read, window: DedupWindow | None = None
    ) -> None:
        self._inbox = inbox
        self._handler = handler
        self._parking = parking
        self._read = read
        self._window = window

    def together(self, connection: Connection, batch: Sequence[Received]) -> Outcome:
        """Apply a batch with one call of the handler. What cannot be read is parked; whatever else fails is raised."""
        return self._apply(connection, batch, self._admit)

    def apart(self, connection: Connection, batch: Sequence[Received], failed: BaseException | None = None) -> Outcome:
        """Apply a batch although something in it fails, and park that. ``failed``: it has, together, with this.

        Raises CulpritError for a failure that is nobody's word yet, and what is no delivery's fault as it is.
        """
        if failed is not None and len(batch) > 1:
            return self._in_parts(connection, batch, failed)
        try:
            with connection.begin_nested():
                outcome = self.together(connection, batch)
                # A constraint that is looked at only at the commit would fail there, where nobody can be told apart.
                connection.exec_driver_sql("SET CONSTRAINTS ALL IMMEDIATE")
                return outcome
        except Exception as error:
            if failure_of(error) in (Failure.TRANSIENT, Failure.STOP):
                raise
            if len(batch) == 1:
                return self._condemn(connection, batch[0], error)
            failure = error
        return self._in_parts(connection, batch, failure)

    def _in_parts(self, connection: Connection, batch: Sequence[Received], failed: BaseException) -> Outcome:
        outcome = Outcome()
        for part in parts(batch, failed):
            outcome += self.apart(connection, part)
        return outcome

    def refuse(self, connection: Connection, received: Received, error: Exception, attempts: int) -> Outcome:
        """Park a delivery untried, unless it is known."""

        def refused(_delivery: Delivery) -> None:
            raise PermanentError(words(error))

        return self._apply(connection, [received], refused, attempts)

    def again(self, connection: Connection, delivery: Received) -> None:
        """Apply one that was parked, by the same way as when it came, and however old it is. Raises what fails."""
        if isinstance(delivery, Unreadable):
            raise PermanentError(delivery.error)
        if fresh := self._inbox.new(connection, [delivery]):
            self._read(delivery)
            self._handler(connection, fresh)

    def _admit(self, delivery: Delivery) -> None:
        """Read a new delivery, unless it is so old that it may only look new."""
        if self._window is not None:
            self._window.check(delivery.envelope.event_id, utc_now())
        self._read(delivery)

    def _apply(self, connection: Connection, batch: Sequence[Received], read: Read, attempts: int = 1) -> Outcome:
        deliveries = [received for received in batch if isinstance(received, Delivery)]
        fresh = self._inbox.new(connection, deliveries) if deliveries else []
        new = fresh if len(deliveries) == len(batch) else _in_order(batch, fresh)
        if not new:
            return Outcome()
        found = self._sort(connection, new, read, attempts)
        if found.ready:
            self._handler(connection, found.ready)
        self._parking.put(connection, found.asides)
        if len(found.ready) < len(fresh):
            ready = {id(delivery) for delivery in found.ready}
            self._inbox.forget(connection, [delivery for delivery in fresh if id(delivery) not in ready])
        parked = tuple(aside.received for aside in found.asides if aside.state == "parked")
        held = tuple(aside.received for aside in found.asides if aside.state == "held")
        return Outcome(tuple(found.ready), parked, held)

    def _sort(self, connection: Connection, new: Sequence[Received], read: Read, attempts: int) -> _Sorted:
        found, lot = _Sorted(), self._parking.look(connection, new)
        for received in new:
            if lot.has(received):
                continue
            if lot.holds(received):
                found.asides.append(self._parking.behind(received))
            elif refusal := _refusal(received, read):
                found.asides.append(Aside(received, "parked", refusal, attempts))
                self._parking.hold_behind(lot, received)
            elif isinstance(received, Delivery):
                found.ready.append(received)
        return found

    def _condemn(self, connection: Connection, received: Received, error: Exception) -> Outcome:
        """Park the one that failed alone. It is recorded anew, since the savepoint took its inbox row with it."""
        attempts = 1
        if failure_of(error) is Failure.BUG:
            attempts += self._parking.tries(connection, received)
            if attempts < MOST_TRIES:
                raise CulpritError(received) from error
            self._parking.forget_tries(connection, received)

        return self.refuse(connection, received, error, attempts)


def _refusal(received: Received, read: Read) -> str | None:
    """Return why a message can never be applied, as far as it shows by itself."""
    if isinstance(received, Unreadable):
        return received.error
    try:
        read(received)
    except PermanentError as error:
        return words(error)
    return None


def _in_order(batch: Sequence[Received], fresh: Sequence[Delivery]) -> list[Received]:
    """Return what is new with what cannot be read, in the order of the batch."""
    known = {id(delivery) for delivery in fresh}
    return [received for received in batch if isinstance(received, Unreadable) or id(received) in known]
