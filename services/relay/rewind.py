"""Publish again from some place in the outbox on, for a log that has lost messages.

The position is not moved back; it begins a pass over rows that are done. ``target`` is the old ``done``, so the pass
ends where the relay stood, and what was pending then is pending still.

Invariant: nothing that is pending is skipped, and first copies keep their order: every pass goes in id order and begins
at or before the first row that is not published. The epoch is raised, so an owner that still has the old place in
memory cannot write it over the new one.

Not promised: that only these rows are published twice. What an owner has in hand meanwhile may be, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, LiteralString

from services.relay.operators import alone, lock_positions, refuse_under_cdc
from services.relay.position import Database
from shared.errors import RefusedError
from shared.outbox import LANES

EARLIEST: Final = "earliest"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a rewind sends again: ``rows`` that are published already, from ``first_id`` on."""

    destination: str
    lanes: tuple[int, ...]
    first_id: int
    rows: int
    oldest_at: datetime | None


_EARLIEST: LiteralString = "SELECT min(id) FROM outbox WHERE destination = %(destination)s"

_FIRST_SINCE: LiteralString = """
SELECT min(id) FROM outbox WHERE destination = %(destination)s AND occurred_at >= %(since)s
"""

_PURGED: LiteralString = "SELECT up_to_id, up_to_at FROM outbox_purged WHERE destination = %(destination)s"

_AGAIN: LiteralString = """
SELECT count(*), min(outbox.occurred_at)
FROM outbox JOIN relay_lane USING (destination, lane) JOIN relay_position AS stand USING (position_id, destination)
WHERE destination = %(destination)s AND lane = ANY(%(lanes)s) AND outbox.id >= %(first_id)s
  AND (pg_visible_in_snapshot(outbox.xid, stand.done)
       OR coalesce(outbox.id <= stand.after_id AND pg_visible_in_snapshot(outbox.xid, stand.target), false))
"""

_STANDS: LiteralString = """
SELECT position_id, array_agg(lane) FROM relay_lane WHERE destination = %(destination)s GROUP BY position_id ORDER BY 1
"""

# Lanes that stay where they are keep the old row; those that go back get a copy of it.
_SPLIT: LiteralString = """
WITH copy AS (
  INSERT INTO relay_position
    (destination, system_identifier, timeline, stalls, done, floor_id, target, target_floor, after_id)
  SELECT destination, system_identifier, timeline, stalls, done, floor_id, target, target_floor, after_id
  FROM relay_position WHERE position_id = %(position_id)s
  RETURNING position_id)
UPDATE relay_lane SET position_id = copy.position_id FROM copy
WHERE destination = %(destination)s AND lane = ANY(%(lanes)s) RETURNING relay_lane.position_id
"""

_FREE: LiteralString = """
UPDATE relay_position SET owner = NULL, lease_until = NULL, epoch = epoch + 1 WHERE position_id = %(position_id)s
"""

# A pass from the very start (a first one, or a rewind that is not through) has published nothing but what lies up to
# its after_id: it goes on to its own target, from further back. Every other position passes over what is done.
_BACK: LiteralString = """
UPDATE relay_position SET
  target = CASE WHEN at_start THEN target ELSE done END,
  target_floor = CASE WHEN at_start THEN target_floor ELSE floor_id END,
  after_id = CASE WHEN at_start THEN least(after_id, %(first_id)s - 1) ELSE %(first_id)s - 1 END,
  done = '1:1:', floor_id = 0, owner = NULL, lease_until = NULL, epoch = epoch + 1
FROM (SELECT position_id AS moved, done::text = '1:1:' AND target IS NOT NULL AS at_start FROM relay_position) AS stand
WHERE position_id = moved AND position_id = %(position_id)s
"""


def plan(database: Database, to: str, destination: str = "event", lanes: Sequence[int] = ()) -> Plan:
    """Say what a rewind would send again. ``to`` is an outbox id, an ISO 8601 time, or ``earliest``; no lanes: all.

    Raises RefusedError below the oldest row kept, for a place that is none, and for events that Debezium publishes.
    """
    if destination == "event":
        refuse_under_cdc(database)
    chosen = _lanes(lanes)
    first_id = _first_id(database, to, destination)
    where = {"destination": destination, "lanes": list(chosen), "first_id": first_id}
    row = database.execute(_AGAIN, where).fetchone()
    assert row is not None
    count, oldest_at = row
    return Plan(destination, chosen, first_id, int(str(count)), oldest_at if isinstance(oldest_at, datetime) else None)


def rewind(database: Database, to: str, destination: str = "event", lanes: Sequence[int] = ()) -> Plan:
    """Make relays publish again from ``to`` on, while they run. Returns what was planned at that moment."""
    with alone(database):
        lock_positions(database)
        planned = plan(database, to, destination, lanes)
        stands = database.execute(_STANDS, {"destination": destination}).fetchall()
        for position_id, here in stands:
            going = sorted(set(planned.lanes) & set(here))  # type: ignore[call-overload]  # an array of lanes
            if going:
                staying = len(going) < len(here)  # type: ignore[arg-type]  # the same array
                _send_back(database, planned, int(str(position_id)), going if staying else None)
    return planned


def _send_back(database: Database, planned: Plan, position_id: int, split_off: list[int] | None) -> None:
    if split_off is not None:
        database.execute(_FREE, {"position_id": position_id})
        where = {"destination": planned.destination, "lanes": split_off, "position_id": position_id}
        row = database.execute(_SPLIT, where).fetchone()
        assert row is not None
        position_id = int(str(row[0]))
    database.execute(_BACK, {"position_id": position_id, "first_id": planned.first_id})


def _lanes(lanes: Sequence[int]) -> tuple[int, ...]:
    wrong = sorted(lane for lane in lanes if not 0 <= lane < LANES)
    if wrong:
        raise RefusedError(f"There is no lane {wrong[0]}: lanes are 0 to {LANES - 1}. Nothing was changed.")
    return tuple(sorted(set(lanes))) or tuple(range(LANES))


def _first_id(database: Database, to: str, destination: str) -> int:
    """Find the id to begin at, and refuse one whose rows are no longer all there."""
    if to == EARLIEST:
        return _earliest(database, destination)
    since = None if to.isdecimal() else _time(to)
    purged = database.execute(_PURGED, {"destination": destination}).fetchone()
    if since is None:
        if purged is not None and int(to) <= int(str(purged[0])):
            raise RefusedError(_too_early(database, f"id {to}", destination))
        return int(to)
    if purged is not None and isinstance(purged[1], datetime) and since <= purged[1]:
        raise RefusedError(_too_early(database, to, destination))
    row = database.execute(_FIRST_SINCE, {"destination": destination, "since": since}).fetchone()
    if row is None or row[0] is None:
        raise RefusedError(f"No {destination} was written at or after {to}: there is nothing to send again.")
    return _above(int(str(row[0])), purged)


def _earliest(database: Database, destination: str) -> int:
    purged = database.execute(_PURGED, {"destination": destination}).fetchone()
    row = database.execute(_EARLIEST, {"destination": destination}).fetchone()
    if row is None or row[0] is None:
        raise RefusedError(f"The outbox holds no {destination}: there is nothing to send again.")
    return _above(int(str(row[0])), purged)


def _above(first_id: int, purged: tuple[object, ...] | None) -> int:
    """Begin behind what retention has deleted: single rows that it kept among them would go out without the others."""
    return max(first_id, int(str(purged[0])) + 1) if purged else first_id


def _too_early(database: Database, where: str, destination: str) -> str:
    row = database.execute(_PURGED, {"destination": destination}).fetchone()
    assert row is not None
    return (
        f"Retention has deleted {destination} rows up to id {row[0]}, so a rewind to {where} could send only some of "
        "what was published since. Nothing was changed. What is older than the outbox has to come from the log itself "
        f"(`once replay`) or from a backup; `--to {EARLIEST}` is as far back as the outbox goes."
    )


def _time(to: str) -> datetime:
    try:
        parsed = datetime.fromisoformat(to)
    except ValueError:
        raise RefusedError(
            f"{to!r} is no place in the outbox. Give an outbox id, a time such as 2026-01-31T12:00:00Z, or "
            f"`{EARLIEST}`."
        ) from None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
