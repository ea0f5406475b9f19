"""Hand rows to the receiver, and do what its answer asks for: wait, try again, or say which row is at fault.

Invariant: while the receiver is away nothing is counted against a row. A row is named only for what was found out about
it alone (``failures``), or because relays that had it alone did not come back (``caution``).
"""

from collections.abc import Sequence
from typing import Final

from opentelemetry.trace import SpanKind

from services.relay.breaker import Breaker
from services.relay.caution import LONE_TRIES
from services.relay.failures import ATTEMPTS, Fault
from services.relay.lanes import Held
from services.relay.pace import Pace
from services.relay.parking import Parked
from services.relay.position import Position, Row
from services.relay.session import Session
from services.relay.telling import Teller
from services.relay.transports import Published, Transport
from shared.tracing import batch_span

PROBE_SECONDS: Final = 1.0


class Sender:
    """One relay's way to its receiver, with a breaker in it."""

    def __init__(self, transport: Transport, destination: str, pace: Pace, tell: Teller) -> None:
        self.breaker = Breaker()
        self._transport = transport
        self._destination = destination
        self._pace = pace
        self._tell = tell

    def open(self) -> None:
        self._transport.open()

    def close(self) -> None:
        self._transport.close()

    def send(self, session: Session, held: Held, position: Position, rows: Sequence[Row]) -> Published:
        """Publish rows; the one that is suspected of having killed relays only once that is written down."""
        care = session.care[held.position_id]
        if rows and care.caution.is_alone(self._pace.chunk_size):
            if care.caution.condemns(rows[0].id):
                return Published(0, f"the relay that sent it alone ended, {LONE_TRIES} times", Fault.ROW)
            silence = self._transport.probe(session.deadline_seconds())
            if silence is not None:
                return Published(0, silence)
            care.caution = care.caution.trying(rows[0].id)
            session.parking.settle(held, position, care.caution, None, [])
        return self.publish(session, held, rows) if rows else Published(0)

    def publish(self, session: Session, held: Held, rows: Sequence[Row]) -> Published:
        deadline = session.deadline_seconds()
        if deadline <= 0:
            return Published(0)  # a renewal that is late is made up for first
        silence = self._transport.probe(min(PROBE_SECONDS, deadline)) if self.breaker.is_open else None
        if silence is not None:
            return Published(0, silence)
        with batch_span(
            f"{self._destination} publish", SpanKind.PRODUCER, (row.traceparent for row in rows), events=len(rows)
        ):
            published = self._transport.publish(rows, session.deadline_seconds())
        if published.count:
            self._tell.published(held, rows, published.count)
        return published

    def ask(self, session: Session) -> None:
        """Ask a receiver that was away for a sign of life when there is nothing to try on it: or the breaker would stay
        open, and look like an outage, until the next event."""
        deadline = session.deadline_seconds()
        if not self.breaker.is_open or self.breaker.blocks() or deadline <= 0:
            return
        if self._transport.probe(min(PROBE_SECONDS, deadline)) is None:
            self.breaker.close()
            self._tell.receiver_answers()
        else:
            self.breaker.trip()

    def judge(self, session: Session, held: Held, rows: Sequence[Row], published: Published) -> Parked | None:
        """Do what the fault asks for. Returns the row that is at fault for good."""
        care = session.care[held.position_id]
        if published.error is not None and published.fault is Fault.RECEIVER:
            self._wait_for_receiver(held, len(rows), published)
            return None
        if rows and (published.count or published.error):
            self.breaker.close()
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

    def send_again(self, session: Session, held: Held, row: Row) -> Published:
        """Publish a row of the parking lot, alone; what becomes of it there is the caller's."""
        published = self.publish(session, held, [row])
        if published.error is not None and published.fault is Fault.RECEIVER:
            self._wait_for_receiver(held, 1, published)
        elif published.error is not None:
            self._tell.refused(held, row, published, attempt=1)
        return published

    def _wait_for_receiver(self, held: Held, rows: int, published: Published) -> None:
        self._tell.receiver_away(held, rows, published, self.breaker.trip())
