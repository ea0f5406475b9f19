"""Refuse to work on a database that is not the one the positions speak of.

Snapshots and transaction ids mean something only in the cluster that made them. After a restore into another cluster
the relay would take old rows for pending, or pending ones for done, so it stops with words instead.

A physical copy (base backup, disk snapshot, promoted standby) is the same cluster on a new timeline: its positions and
transactions are those of its own past. Nothing is lost by going on from there, so that is told and not refused.

Not promised: to notice a physical copy that is older than the log. It looks exactly as the database once did; rows that
it sends again are known to every inbox, and what was committed after it is gone with the old server.
"""

from dataclasses import dataclass
from typing import Final, LiteralString

from services.relay.errors import StandbyError
from services.relay.position import Database
from shared.errors import RefusedError
from shared.logs import get_logger

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Cluster:
    """Who a server is: ``identifier`` is made by initdb, ``timeline`` moves on with each promotion or recovery."""

    identifier: str
    timeline: int


_STANDBY: LiteralString = "SELECT pg_is_in_recovery()"

# The timeline that is written now: the control file knows only that of the last checkpoint.
_CLUSTER: LiteralString = """
SELECT (SELECT system_identifier::text FROM pg_control_system()),
       ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int
"""

# A row that this statement can read belongs to a transaction that its snapshot sees, unless the row was made elsewhere.
_FOREIGN: LiteralString = """
SELECT xid::text FROM (SELECT xid FROM outbox ORDER BY xid DESC LIMIT 1) AS newest
WHERE NOT pg_visible_in_snapshot(xid, pg_current_snapshot())
"""

# The sequence is read after the statement's snapshot was taken, so it is never behind a row that the snapshot sees.
_SEQUENCE: LiteralString = """
SELECT coalesce(pg_sequence_last_value('outbox_id_seq'), 0),
       greatest((SELECT coalesce(max(id), 0) FROM outbox),
                (SELECT coalesce(max(greatest(floor_id, target_floor)), 0) FROM relay_position))
"""

_MARK: LiteralString = """
UPDATE relay_position SET system_identifier = %(identifier)s, timeline = %(timeline)s WHERE system_identifier IS NULL
"""

_MARKED: LiteralString = """
SELECT DISTINCT system_identifier, coalesce(timeline, 0) FROM relay_position ORDER BY 1, 2
"""

_FOLLOW: LiteralString = """
UPDATE relay_position SET timeline = %(timeline)s WHERE timeline IS DISTINCT FROM %(timeline)s
"""

_CURE: Final = "Keep writers stopped if you can, and follow docs/how-to/restore-a-database.md: it ends with"


def check(database: Database) -> None:
    """Compare the cluster with the one the positions were written in, and report a new timeline.

    Raises StandbyError, or RefusedError with what to do next.
    """
    cluster = cluster_of(database)
    database.execute(_MARK, {"identifier": cluster.identifier, "timeline": cluster.timeline})
    marked = [Cluster(str(identifier), int(str(timeline))) for identifier, timeline in database.execute(_MARKED)]
    other = next((each for each in marked if each.identifier != cluster.identifier), None)
    if other is not None:
        raise RefusedError(
            f"The positions were written in cluster {other.identifier}, this is cluster {cluster.identifier}: the "
            "database was dumped and restored, copied, or upgraded, and snapshots of another cluster would lose or "
            f"hold events here. {_CURE} `once relay rebase` (after pg_upgrade: with --xids-kept)."
        )
    _check_rows(database)
    _follow_timeline(database, cluster, marked)


def cluster_of(database: Database) -> Cluster:
    """Ask the server who it is. Raises StandbyError on a standby."""
    (standby,) = _one(database, _STANDBY)
    if standby:
        raise StandbyError(
            "This is a standby: its snapshots do not list running transactions, so events would be lost. Nothing is "
            "read until it is promoted; if it should not be, point DATABASE_URL at the primary."
        )
    identifier, timeline = _one(database, _CLUSTER)
    return Cluster(str(identifier), int(str(timeline)))


def foreign_transaction(database: Database) -> str | None:
    """Return the transaction of a row that this cluster cannot have written, or None."""
    found = database.execute(_FOREIGN).fetchone()
    return str(found[0]) if found else None


def _check_rows(database: Database) -> None:
    if (foreign := foreign_transaction(database)) is not None:
        raise RefusedError(
            f"The outbox holds a row of transaction {foreign}, which this cluster has not reached: its rows were "
            "copied from another one, and reading them by position would lose or hold events. "
            f"{_CURE} `once relay rebase`."
        )
    last, highest = (int(str(value)) for value in _one(database, _SEQUENCE))
    if last < highest:
        raise RefusedError(
            f"The sequence of outbox ids stands at {last}, and id {highest} has been used: it was not copied with the "
            "rows, so new events would get ids that were passed already and never leave. "
            f"{_CURE} `once relay rebase`, which sets the sequence, too."
        )


def _follow_timeline(database: Database, cluster: Cluster, marked: list[Cluster]) -> None:
    before = sorted({each.timeline for each in marked} - {0, cluster.timeline})
    if before:
        log.warning(
            "new timeline",
            timeline=cluster.timeline,
            before=before,
            detail="The server was promoted, or recovered from a backup: its positions are read again from its own "
            "tables, and what was published after them is published once more. Nothing to do, unless the old server "
            "still runs: stop it.",
        )
    database.execute(_FOLLOW, {"timeline": cluster.timeline})


def _one(database: Database, query: LiteralString) -> tuple[object, ...]:
    row = database.execute(query).fetchone()
    assert row is not None
    return row
