"""How far relays are behind, read from the outbox and their positions beside it.

Pending is what a relay would read next. What is parked or held lies behind its position and is not pending.

Invariant: cheap whatever the position. A look reads a bounded stretch behind each position, so one that has stood still
for long, or that hardly anything belongs to, costs no more than a busy one.

Not promised: an exact count. It stops at the bound, and a late commit in the middle of a relay's pass is counted only
when that pass ends. A destination that no relay has ever carried is left out, unless it is that of events.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

STRETCH: Final = 100_000
"""Rows looked at behind each position. A stuck position's oldest row is among the first of them."""

_PENDING: Final = """
SELECT stand.destination, count(pending.occurred_at),
       coalesce(extract(epoch FROM clock_timestamp() - min(pending.occurred_at)), 0)::float
FROM relay_position AS stand
CROSS JOIN LATERAL (
  SELECT array_agg(lane) AS lanes FROM relay_lane WHERE relay_lane.position_id = stand.position_id) AS held
LEFT JOIN LATERAL (
  (SELECT occurred_at FROM (
     SELECT id, xid, destination, lane, occurred_at FROM outbox
     WHERE id > greatest(stand.floor_id, stand.after_id) ORDER BY id LIMIT %(stretch)s) AS stretch
   WHERE destination = stand.destination AND lane = ANY(held.lanes) AND NOT pg_visible_in_snapshot(xid, stand.done)
   ORDER BY id LIMIT %(at_most)s)
  UNION ALL
  (SELECT occurred_at FROM pg_snapshot_xip(stand.done) AS running (xid) JOIN outbox USING (xid)
   WHERE id > stand.after_id AND id <= stand.floor_id AND destination = stand.destination
     AND lane = ANY(held.lanes)
   LIMIT %(at_most)s)) AS pending ON true
WHERE stand.epoch > 0 OR stand.destination = 'event'
GROUP BY stand.destination
ORDER BY stand.destination
"""


@dataclass(frozen=True, slots=True)
class Backlog:
    destination: str
    pending: int
    oldest_seconds: float
    """0 when nothing is pending."""


def backlogs(execute: Callable[[Any, Any], Iterable[Any]], at_most: int) -> list[Backlog]:
    """Return what is pending for each destination, counted up to ``at_most`` rows per position.

    ``execute`` runs a statement with named parameters: a psycopg connection's, or ``exec_driver_sql`` of SQLAlchemy's.
    """
    rows = execute(_PENDING, {"at_most": at_most, "stretch": max(STRETCH, at_most)})
    return [Backlog(destination, pending, oldest) for destination, pending, oldest in rows]
