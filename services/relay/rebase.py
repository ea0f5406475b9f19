"""Make positions mean something again in a cluster that did not write them.

After a dump and restore, or a logical copy, transaction ids in the outbox and snapshots in the positions are another
cluster's. A rebase gives the rows that may be pending a transaction of this cluster, and every position a snapshot of
this cluster that does not see it: they are pending, and all others are done.

Invariant: a row that was not published is pending afterwards. Where the copy does not tell (``xid`` was left out of it
while transactions were running), rows are taken for pending: published twice rather than never.

One transaction: killed anywhere, it has changed nothing. Writers wait for it. Relays may run: their lanes are taken
from them first, and it begins when none of them may publish by its own clock any more. One that went on by what it
remembers would take rows that get another transaction here for done, and publish later versions before them.
"""

import time
from dataclasses import dataclass
from typing import Final, LiteralString
from uuid import uuid4

from services.relay.identity import Cluster, cluster_of, foreign_transaction
from services.relay.operators import alone, lock_positions, refuse_under_cdc
from services.relay.position import Database
from shared.errors import RefusedError


@dataclass(frozen=True, slots=True)
class Rebased:
    """What a rebase did, or would do."""

    before: Cluster | None
    """The cluster that the positions were written in; None: no relay has worked here yet."""
    now: Cluster
    pending: int
    """Rows that relays publish next; some of them may be published already."""
    done: int
    sequence_set_to: int | None = None


_BEFORE: LiteralString = """
SELECT system_identifier, coalesce(timeline, 0) FROM relay_position
WHERE system_identifier IS NOT NULL ORDER BY system_identifier = %(identifier)s LIMIT 1
"""

# Rows below a floor that were made here, by the copy itself, do not say which transaction wrote them first. Where the
# old cluster had transactions running, any of these rows may be one of theirs, published or not.
_STAND: LiteralString = """
WITH stand AS MATERIALIZED (
  SELECT destination, lane, done, floor_id,
    right(done::text, 1) <> ':' AND EXISTS (
      SELECT FROM outbox AS copied
      WHERE copied.id <= floor_id
        AND mod(copied.xid::text::numeric, 4294967296)::bigint = copied.xmin::text::bigint) AS blind
  FROM relay_position JOIN relay_lane USING (position_id, destination))
"""

_PENDING: LiteralString = """
outbox.destination = stand.destination AND outbox.lane = stand.lane
  AND (outbox.id > stand.floor_id OR NOT pg_visible_in_snapshot(outbox.xid, stand.done) OR stand.blind)
"""

_COUNT: LiteralString = (
    _STAND  # noqa: S608  # constants of ours
    + "SELECT (SELECT count(*) FROM outbox, stand WHERE "
    + _PENDING
    + "), (SELECT count(*) FROM outbox)"
)

_CLAIM: LiteralString = (
    _STAND  # noqa: S608  # constants of ours
    + "UPDATE outbox SET xid = pg_current_xact_id() FROM stand WHERE "
    + _PENDING
)

# A number that this cluster has not reached would be in no snapshot, and one that it is just using in the wrong ones.
_FREEZE: LiteralString = """
UPDATE outbox SET xid = '2' WHERE xid >= pg_snapshot_xmin(%(now)s::pg_snapshot) AND xid <> pg_current_xact_id()
"""

_MOVE: LiteralString = """
UPDATE relay_position
SET done = %(now)s::pg_snapshot, floor_id = 0, target = NULL, target_floor = NULL, after_id = 0, stalls = 0,
    system_identifier = %(identifier)s, timeline = %(timeline)s,
    owner = NULL, lease_until = NULL, epoch = epoch + 1
"""

_ADOPT: LiteralString = """
UPDATE relay_position
SET system_identifier = %(identifier)s, timeline = %(timeline)s, owner = NULL, lease_until = NULL, epoch = epoch + 1
"""

# Snapshots that this cluster has not reached, or rows at places where its own history cannot have put them.
_NOT_OURS: LiteralString = """
SELECT EXISTS (
  SELECT FROM relay_position
  WHERE greatest(pg_snapshot_xmax(done), pg_snapshot_xmax(target)) > pg_snapshot_xmax(pg_current_snapshot()))
OR EXISTS (
  SELECT FROM relay_position JOIN relay_lane USING (position_id, destination)
  JOIN outbox USING (destination, lane) WHERE outbox.id <= floor_id AND outbox.xid >= pg_snapshot_xmax(done))
"""

_SEQUENCE: LiteralString = """
SELECT setval('outbox_id_seq', highest) FROM (
  SELECT greatest((SELECT max(id) FROM outbox),
                  (SELECT max(greatest(floor_id, target_floor)) FROM relay_position)) AS highest) AS used
WHERE highest > coalesce(pg_sequence_last_value('outbox_id_seq'), 0)
"""


# A little longer than the lease that is taken away: long enough to begin, short enough if this process dies.
_TAKE_AWAY: LiteralString = """
WITH live AS (
  SELECT position_id, lease_until FROM relay_position
  WHERE owner <> %(name)s AND lease_until > clock_timestamp() AND isfinite(lease_until) FOR UPDATE)
UPDATE relay_position SET owner = %(name)s, epoch = epoch + 1, lease_until = live.lease_until + interval '15 s'
FROM live WHERE relay_position.position_id = live.position_id
RETURNING extract(epoch FROM live.lease_until - clock_timestamp())::float
"""

_ANYBODY: LiteralString = """
SELECT 1 FROM relay_position
WHERE owner <> %(name)s AND lease_until > clock_timestamp() AND isfinite(lease_until) LIMIT 1
"""

TRIES: Final = 5


def plan(database: Database, *, xids_kept: bool = False) -> Rebased:
    """Say what a rebase would do, by the state of this moment; changes nothing and locks nothing.

    Raises RefusedError when ``xids_kept`` is claimed and cannot be true, and while Debezium publishes the events.
    """
    now = cluster_of(database)
    refuse_under_cdc(database)
    if xids_kept:
        _check_kept(database)
        return Rebased(_before(database, now), now, 0, 0)
    pending, total = _numbers(database, _COUNT)
    return Rebased(_before(database, now), now, pending, total - pending)


def rebase(database: Database, *, xids_kept: bool = False) -> Rebased:
    """Rebase the outbox onto this cluster, as its owner. ``xids_kept``: only the identity is new (pg_upgrade)."""
    name = f"rebase {uuid4()}"
    refuse_under_cdc(database)  # now already: its lease has no end that could be waited for
    for _ in range(TRIES):
        if not xids_kept:  # what relays remember stays true where transactions keep their numbers
            _silence(database, name)
        done = _rebase(database, name, xids_kept=xids_kept)
        if done is not None:
            return done
    raise RefusedError(
        f"Nothing was changed: relays took lanes again, {TRIES} times, before this could begin, as they do when "
        "somebody else rewinds or rebases at the same time. Stop the relays or wait for that to end, then try again."
    )


def _silence(database: Database, name: str) -> None:
    """Take the lanes from relays that live, and wait until the last of their leases would have ended."""
    left = [float(str(seconds)) for (seconds,) in database.execute(_TAKE_AWAY, {"name": name})]
    time.sleep(max(left, default=0.0))


def _rebase(database: Database, name: str, *, xids_kept: bool) -> Rebased | None:
    """Do it in one transaction; None when a relay has a lane again."""
    now = cluster_of(database)
    with alone(database):
        # First of all, before this transaction has an id of its own: what the snapshot sees is done, and it must not
        # see what is written below.
        (snapshot,) = _strings(database, "SELECT pg_current_snapshot()::text")
        database.execute("LOCK TABLE outbox IN SHARE ROW EXCLUSIVE MODE")
        lock_positions(database)
        refuse_under_cdc(database)
        if not xids_kept and database.execute(_ANYBODY, {"name": name}).fetchone() is not None:
            return None
        before = _before(database, now)
        # The positions' floors count, too, so this comes before they are moved.
        raised = None if xids_kept else database.execute(_SEQUENCE).fetchone()
        marks = {"now": snapshot, "identifier": now.identifier, "timeline": now.timeline}
        if xids_kept:
            _check_kept(database)
            database.execute(_ADOPT, marks)
            return Rebased(before, now, 0, 0)
        pending = database.execute(_CLAIM).rowcount
        database.execute(_FREEZE, marks)
        database.execute(_MOVE, marks)
        (total,) = _numbers(database, "SELECT count(*) FROM outbox")
        return Rebased(before, now, pending, total - pending, int(str(raised[0])) if raised else None)


def _before(database: Database, now: Cluster) -> Cluster | None:
    row = database.execute(_BEFORE, {"identifier": now.identifier}).fetchone()
    return Cluster(str(row[0]), int(str(row[1]))) if row else None


def _check_kept(database: Database) -> None:
    foreign = foreign_transaction(database)
    (not_ours,) = database.execute(_NOT_OURS).fetchone() or (True,)
    if foreign is not None or not_ours:
        raise RefusedError(
            "--xids-kept cannot be true here: the outbox or its positions name transactions that this cluster has not "
            "reached. Nothing was changed. It is meant for pg_upgrade alone; leave it out, and what may be pending is "
            "published again."
        )


def _strings(database: Database, query: LiteralString) -> tuple[str, ...]:
    row = database.execute(query).fetchone()
    assert row is not None
    return tuple(str(value) for value in row)


def _numbers(database: Database, query: LiteralString) -> tuple[int, ...]:
    return tuple(int(value) for value in _strings(database, query))
