"""One at a time: what an operator changes while relays, writers and other operators are at work.

Invariant: rewind, rebase and retention of one database exclude each other, and a relay is never half-way through a
statement of its own while positions are moved. All of it ends with the transaction, also when the process is killed.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from psycopg.errors import DeadlockDetected, LockNotAvailable

from services.relay.position import Database
from shared import cdc
from shared.errors import RefusedError
from shared.outbox_retention import OPERATORS_KEY

WAIT_SECONDS: Final = 10.0


@contextmanager
def alone(database: Database, wait_seconds: float = WAIT_SECONDS) -> Iterator[None]:
    """Open a transaction that no other operator's overlaps. Raises RefusedError when a lock cannot be had in time."""
    try:
        with database.transaction():
            database.execute("SELECT set_config('lock_timeout', %s, true)", [f"{int(wait_seconds * 1000)}ms"])
            database.execute("SELECT pg_advisory_xact_lock(%s)", [OPERATORS_KEY])
            yield
    except (LockNotAvailable, DeadlockDetected) as error:
        raise RefusedError(
            f"Nothing was changed: a lock could not be had within {wait_seconds:g} s. Another rewind, rebase or "
            "retention runs, or a transaction that has written events is still open; pg_stat_activity shows it by its "
            "xact_start. End it or wait, then try again."
        ) from error


def refuse_under_cdc(database: Database) -> None:
    """Raise RefusedError while the engine ``cdc`` has the events: its slot goes forward only, whatever a position says.

    To be asked under ``lock_positions``, since a switch of the engine moves positions, too.
    """
    held = database.execute("SELECT 1 FROM relay_position WHERE owner = %s LIMIT 1", [cdc.OWNER]).fetchone()
    if held is not None:
        raise RefusedError(
            "The engine cdc publishes this outbox's events: Debezium goes by its replication slot, which only goes "
            "forward, so moving positions would send nothing again and could take them from it. Nothing was changed. "
            "`once engine switch polling` first, then try again."
        )


def lock_positions(database: Database) -> None:
    """Wait until no relay is half-way through moving, splitting or joining positions; then keep them from it."""
    database.execute("LOCK TABLE relay_position IN EXCLUSIVE MODE")
