"""Refuse to work on a database that is not the one the positions speak of.

Snapshots and transaction ids mean something only in the cluster that made them. After a restore into another cluster
the relay would take old rows for pending, or pending ones for done, so it stops with words instead.
"""

from typing import Final, LiteralString

from services.relay.position import Database
from shared.errors import RefusedError

_FACTS: LiteralString = """
SELECT pg_is_in_recovery(), (SELECT system_identifier::text FROM pg_control_system())
"""

# A row that this statement can read belongs to a transaction that its snapshot sees, unless the row was made elsewhere.
_FOREIGN: LiteralString = """
SELECT xid::text FROM (SELECT xid FROM outbox ORDER BY xid DESC LIMIT 1) AS newest
WHERE NOT pg_visible_in_snapshot(xid, pg_current_snapshot())
"""

_MARK: LiteralString = """
UPDATE relay_position SET system_identifier = %(identifier)s WHERE system_identifier IS NULL
"""

_OTHERS: LiteralString = """
SELECT DISTINCT system_identifier FROM relay_position WHERE system_identifier <> %(identifier)s
"""

_CURE: Final = "Keep the relay stopped and follow docs/how-to/restore-a-database.md before you start it again."


def check(database: Database) -> None:
    """Compare the cluster with the one the positions were written in. Raises RefusedError with what to do next."""
    row = database.execute(_FACTS).fetchone()
    assert row is not None
    standby, identifier = row
    if standby:
        raise RefusedError(
            "This is a standby: its snapshots do not list running transactions, so events would be lost. "
            "Point DATABASE_URL at the primary."
        )
    database.execute(_MARK, {"identifier": identifier})
    other = database.execute(_OTHERS, {"identifier": identifier}).fetchone()
    if other is not None:
        raise RefusedError(
            f"The positions were written in cluster {other[0]}, this is cluster {identifier}: the database was "
            f"restored or copied, and its positions mean nothing here. {_CURE}"
        )
    foreign = database.execute(_FOREIGN).fetchone()
    if foreign is not None:
        raise RefusedError(
            f"The outbox holds a row of transaction {foreign[0]}, which this cluster has not reached: its rows were "
            f"copied from another one, and reading them by position would lose or hold events. {_CURE}"
        )
