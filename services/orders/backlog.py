"""How far the relay is behind, and the gate that stops taking orders when it is too far.

An order whose event does not leave is never invoiced. When the oldest unpublished event is older than a limit, saying
503 is more honest than going on. Age, not depth: a short queue that has stood still for days is the worse one.

Not promised: an exact count. It stops at a bound, and a late commit in the middle of a relay's pass is counted only
when that pass ends.
"""

import threading
from dataclasses import dataclass

from sqlalchemy import Connection, Engine, text

from services.orders.errors import BacklogError
from shared.clock import monotonic
from shared.database import transaction

REFRESH_SECONDS = 1.0

# What the relay itself would read next: rows behind the floor by id, and late commits below it by transaction.
_PENDING = text("""
SELECT stand.destination, count(pending.occurred_at) AS pending,
       extract(epoch FROM clock_timestamp() - min(pending.occurred_at))::float AS oldest_seconds
FROM relay_position AS stand
CROSS JOIN LATERAL (
  SELECT array_agg(lane) AS lanes FROM relay_lane WHERE relay_lane.position_id = stand.position_id) AS held
LEFT JOIN LATERAL (
  (SELECT occurred_at FROM outbox
   WHERE id > greatest(stand.floor_id, stand.after_id) AND destination = stand.destination
     AND lane = ANY(held.lanes) AND NOT pg_visible_in_snapshot(xid, stand.done)
   ORDER BY id LIMIT :at_most)
  UNION ALL
  (SELECT occurred_at FROM pg_snapshot_xip(stand.done) AS running (xid) JOIN outbox USING (xid)
   WHERE id > stand.after_id AND id <= stand.floor_id AND destination = stand.destination
     AND lane = ANY(held.lanes)
   LIMIT :at_most)) AS pending ON true
GROUP BY stand.destination
ORDER BY stand.destination
""")


@dataclass(frozen=True, slots=True)
class Backlog:
    destination: str
    pending: int
    oldest_seconds: float
    """0 when nothing is pending."""


def backlogs(connection: Connection, at_most: int) -> list[Backlog]:
    """Return what is pending for each destination, counted up to ``at_most`` rows per position."""
    rows = connection.execute(_PENDING, {"at_most": at_most})
    return [Backlog(row.destination, row.pending, row.oldest_seconds or 0.0) for row in rows]


class Gate:
    """Refuses work while the backlog is too old. Asks the database once a second at most, whatever the load."""

    def __init__(self, engine: Engine, limit_seconds: float) -> None:
        self._engine = engine
        self._limit_seconds = limit_seconds
        self._oldest_seconds = 0.0
        self._asked_at: float | None = None
        self._asking = threading.Lock()

    def check(self) -> None:
        """Raise BacklogError while the oldest pending event is older than the limit."""
        if not self._limit_seconds:
            return
        self._refresh()
        if self._oldest_seconds > self._limit_seconds:
            raise BacklogError(
                f"The oldest event has waited {self._oldest_seconds:.0f} s to be published, so orders are not taken "
                "for now: they would not be invoiced. Nothing was written. Send the request again later."
            )

    def _refresh(self) -> None:
        if self._asked_at is not None and monotonic() - self._asked_at < REFRESH_SECONDS:
            return
        if not self._asking.acquire(blocking=False):
            return  # another thread is asking; the last answer is good enough
        try:
            with transaction(self._engine) as connection:
                self._oldest_seconds = max((b.oldest_seconds for b in backlogs(connection, at_most=1)), default=0.0)
            self._asked_at = monotonic()
        finally:
            self._asking.release()
