"""Delete events that everybody has had for long enough.

Invariant: only rows go that are published for certain: visible in the ``done`` of their own lane's position. An id says
nothing of it (a late commit has a low one), and neither does a floor. Nothing that is parked or held goes; what a
person has given up goes once the decision, too, is old enough.

In batches, each a short transaction of its own, so writers, relays and vacuum are never kept waiting; killed between
two, the next run goes on. Up to where rows have been deleted is noted, so that a rewind knows what is no longer there.
"""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, LiteralString

from psycopg import Connection

Database = Connection[tuple[Any, ...]]

OPERATORS_KEY: Final = 0x0CE_0B0C
"""The advisory lock that keeps retention, rewind and rebase of one database apart. Such locks are per database."""


@dataclass(frozen=True, slots=True)
class Purged:
    """What a run deleted, and in words why not more. ``kept_because`` is empty when all that is old enough is gone."""

    deleted: int
    kept_because: tuple[str, ...] = ()


PUBLISHED: LiteralString = "pg_visible_in_snapshot(next.xid, stand.done)"
"""The rule that nothing unpublished is deleted."""

_NEXT: LiteralString = """
WITH next AS MATERIALIZED (
  SELECT id, xid, destination, lane, occurred_at FROM outbox WHERE id > %(after)s ORDER BY id LIMIT %(batch)s),
judged AS (
  SELECT next.*, occurred_at < clock_timestamp() - make_interval(secs => %(older_than_seconds)s) AS old,
"""

_GO: LiteralString = """ AS published,
    EXISTS (SELECT FROM outbox_parked WHERE outbox_id = next.id AND (state = 'discarded' AND discarded_at
            < clock_timestamp() - make_interval(secs => %(given_up_seconds)s)) IS NOT TRUE) AS parked
  FROM next JOIN relay_lane USING (destination, lane) JOIN relay_position AS stand USING (position_id, destination)),
given_up AS (
  DELETE FROM outbox_parked USING judged WHERE outbox_id = judged.id AND old AND published AND NOT parked),
gone AS (
  DELETE FROM outbox USING judged WHERE outbox.id = judged.id AND old AND published AND NOT parked
  RETURNING outbox.id, outbox.destination, outbox.occurred_at),
noted AS (
  INSERT INTO outbox_purged (destination, up_to_id, up_to_at)
  SELECT destination, max(id), max(occurred_at) FROM gone GROUP BY destination ORDER BY destination
  ON CONFLICT (destination) DO UPDATE
  SET up_to_id = greatest(outbox_purged.up_to_id, excluded.up_to_id),
      up_to_at = greatest(outbox_purged.up_to_at, excluded.up_to_at))
SELECT destination, lane, max(judged.id), bool_or(old), count(gone.id),
       count(*) FILTER (WHERE old AND parked),
       count(*) FILTER (WHERE old AND NOT published AND NOT parked),
       min(judged.occurred_at) FILTER (WHERE old AND NOT published AND NOT parked)
FROM judged LEFT JOIN gone USING (id, destination) GROUP BY destination, lane
"""

_OWNER: LiteralString = """
SELECT CASE WHEN done::text = '1:1:' AND target IS NOT NULL THEN 'it is in a pass from the start'
            WHEN owner IS NULL THEN 'no relay owns it'
            WHEN lease_until < clock_timestamp() THEN 'its owner ' || owner || ' let the lease run out'
            ELSE 'its owner is ' || owner END
FROM relay_lane JOIN relay_position USING (position_id, destination)
WHERE destination = %(destination)s AND lane = %(lane)s
"""

# Rows of other roles' sessions show their times only to those who may read all statistics.
_HELD: LiteralString = """
SELECT pid, coalesce(nullif(application_name, ''), 'no name'),
       extract(epoch FROM clock_timestamp() - xact_start)::bigint
FROM pg_stat_activity
WHERE datname = current_database() AND xact_start < clock_timestamp() - interval '1 minute'
  AND (backend_xid IS NOT NULL OR backend_xmin IS NOT NULL) AND pid <> pg_backend_pid()
ORDER BY xact_start LIMIT 1
"""


@dataclass(slots=True)
class _Kept:
    """Rows that are old enough and could not go."""

    parked: int
    unpublished: Counter[tuple[str, int]]
    oldest: datetime | None = None
    slowest: tuple[str, int] | None = None

    def take(self, lane: tuple[str, int], parked: int, unpublished: int, oldest: datetime | None) -> None:
        self.parked += parked
        self.unpublished[lane] += unpublished
        if oldest is not None and (self.oldest is None or oldest < self.oldest):
            self.oldest, self.slowest = oldest, lane


def purge(
    database: Database, older_than_seconds: float, batch: int = 5000, given_up_seconds: float | None = None
) -> Purged:
    """Delete what is older than that and published, and say what keeps the rest. May run beside everything else.

    Rows that were discarded longer than ``given_up_seconds`` ago go with their entry in the lot; None: they stay.
    """
    deleted, after, kept = 0, 0, _Kept(0, Counter())
    while True:
        with database.transaction():
            if not try_alone(database):
                return Purged(deleted, ("Another rewind, rebase or retention is at work: the next run goes on here.",))
            lanes = database.execute(
                _NEXT + PUBLISHED + _GO,
                {
                    "after": after,
                    "batch": batch,
                    "older_than_seconds": older_than_seconds,
                    "given_up_seconds": given_up_seconds,
                },
            ).fetchall()
        for destination, lane, last, _old, gone, parked, unpublished, oldest in lanes:
            after = max(after, int(str(last)))
            deleted += int(str(gone))
            kept.take(
                (str(destination), int(str(lane))),
                int(str(parked)),
                int(str(unpublished)),
                oldest if isinstance(oldest, datetime) else None,
            )
        # Ids follow time closely enough: behind a whole batch of young rows there is nothing old worth a look.
        if not any(old for _destination, _lane, _last, old, *_counts in lanes):
            return Purged(deleted, tuple(_reasons(database, kept, deleted)))


def try_alone(database: Database) -> bool:
    """Within a transaction: keep other operators out until it ends, or say that one is at work."""
    row = database.execute("SELECT pg_try_advisory_xact_lock(%s)", [OPERATORS_KEY]).fetchone()
    return bool(row and row[0])


def _reasons(database: Database, kept: _Kept, deleted: int) -> list[str]:
    reasons = []
    waiting = kept.unpublished.total()
    if kept.slowest is not None:
        destination, lane = kept.slowest
        (owner,) = database.execute(_OWNER, {"destination": destination, "lane": lane}).fetchone() or ("",)
        lanes = sum(count > 0 for count in kept.unpublished.values())
        reasons.append(
            f"{waiting} rows of {lanes} lanes are old enough and not published for certain. The slowest is lane {lane} "
            f"of destination {destination} with {kept.unpublished[kept.slowest]} rows, the oldest from {kept.oldest}: "
            f"{owner}. `once relay status` shows where it stands; once it has moved on, the next run deletes them."
        )
    if kept.parked:
        reasons.append(
            f"{kept.parked} rows are parked, held behind a parked one, or given up and still on record. Redrive or "
            "discard what waits: `once parked ls`."
        )
    if deleted and (held := database.execute(_HELD).fetchone()):
        reasons.append(
            f"The deleted rows still take space: a transaction is open for {held[2]} s (pid {held[0]}, {held[1]}), "
            "and vacuum must keep what it might see. End it if nobody needs it."
        )
    return reasons
