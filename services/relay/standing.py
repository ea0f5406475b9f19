"""Where the relays of an outbox stand, for a person: lanes, owners, leases, what is pending and what is held back.

Not promised: an exact count of a long backlog. Counting stops at a bound, per position.
"""

from dataclasses import dataclass
from typing import Final, LiteralString

from services.relay.position import Database

COUNT_AT_MOST: Final = 100_000


@dataclass(frozen=True, slots=True)
class Standing:
    """One position. ``lease_seconds`` is what is left of the lease, negative when it has run out."""

    destination: str
    lanes: tuple[int, ...]
    owner: str | None
    epoch: int
    lease_seconds: float | None
    pending: int
    oldest_seconds: float
    stalls: int
    doing: str
    """``idle`` between two passes, ``passing`` inside of one, ``from start`` in a first pass or after a rewind."""
    system_identifier: str | None
    timeline: int | None


@dataclass(frozen=True, slots=True)
class Overview:
    positions: tuple[Standing, ...]
    parked: dict[str, int]
    """State → rows of the outbox in it."""


# As the relay itself looks for them: rows behind the floor by id, late commits below it by transaction.
_STANDINGS: LiteralString = """
SELECT stand.destination, held.lanes, stand.owner, stand.epoch,
       extract(epoch FROM stand.lease_until - clock_timestamp())::float,
       count(pending.occurred_at),
       coalesce(extract(epoch FROM clock_timestamp() - min(pending.occurred_at)), 0)::float,
       stand.stalls,
       CASE WHEN stand.target IS NULL THEN 'idle' WHEN stand.done::text = '1:1:' AND stand.target_floor > 0
            THEN 'from start' ELSE 'passing' END,
       stand.system_identifier, stand.timeline
FROM relay_position AS stand
CROSS JOIN LATERAL (
  SELECT array_agg(lane ORDER BY lane) AS lanes FROM relay_lane
  WHERE relay_lane.position_id = stand.position_id) AS held
LEFT JOIN LATERAL (
  (SELECT occurred_at FROM outbox
   WHERE id > greatest(stand.floor_id, stand.after_id) AND destination = stand.destination
     AND lane = ANY(held.lanes) AND NOT pg_visible_in_snapshot(xid, stand.done)
   ORDER BY id LIMIT %(at_most)s)
  UNION ALL
  (SELECT occurred_at FROM pg_snapshot_xip(stand.done) AS running (xid) JOIN outbox USING (xid)
   WHERE id > stand.after_id AND id <= stand.floor_id AND destination = stand.destination
     AND lane = ANY(held.lanes)
   LIMIT %(at_most)s)) AS pending ON true
WHERE held.lanes IS NOT NULL
GROUP BY stand.position_id, held.lanes
ORDER BY stand.destination, held.lanes
"""

_PARKED: LiteralString = "SELECT state, count(*) FROM outbox_parked GROUP BY state ORDER BY state"


def overview(database: Database) -> Overview:
    """Look at all positions once; in autocommit, so that nothing is held open."""
    rows = database.execute(_STANDINGS, {"at_most": COUNT_AT_MOST}).fetchall()
    parked = {str(state): int(str(count)) for state, count in database.execute(_PARKED)}
    return Overview(
        tuple(Standing(destination, tuple(lanes), *rest) for destination, lanes, *rest in rows),  # type: ignore[arg-type]  # columns are fields, in order
        parked,
    )
