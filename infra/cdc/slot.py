"""Replication slots, and the positions of events while the engine ``cdc`` is in force. Needs a superuser.

Going over to ``cdc`` and back loses nothing because of the order of steps (``infra/engine.py``); each step here may be
repeated.

Invariant: an event is behind the position of its lane, or the slot still has it, or both.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import LiteralString

import psycopg

from infra.local.errors import NotReadyError
from shared.cdc import OWNER

Database = psycopg.Connection[tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a connector came. ``behind_bytes`` of the log are not confirmed yet."""

    active: bool
    wal_status: str
    """``lost``: the log was let go before it was read, and the connector cannot go on."""
    behind_bytes: int
    confirmed_seconds: float | None
    """Age of the last confirmed heartbeat; None before the first."""


_MAKE: LiteralString = "SELECT pg_create_logical_replication_slot(%s, 'pgoutput')"

_DROP: LiteralString = "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s"

_HOLDER: LiteralString = "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = %s"

# By the position alone: what a relay has in hand is not yet behind it.
_UNPUBLISHED: LiteralString = """
SELECT count(*) FROM relay_position AS stand
JOIN relay_lane USING (position_id, destination)
JOIN outbox USING (destination, lane)
WHERE destination = 'event'
  AND (outbox.id > stand.floor_id OR outbox.xid IN (SELECT pg_snapshot_xip(stand.done)))
  AND pg_visible_in_snapshot(outbox.xid, %(target)s::pg_snapshot)
  AND NOT pg_visible_in_snapshot(outbox.xid, stand.done)
"""

# No relay takes what has an owner and a lease; the epoch fences one that still believes to hold it.
_HAND_OVER: LiteralString = """
UPDATE relay_position
SET owner = %(owner)s, lease_until = '9999-12-31', epoch = epoch + 1, target = NULL, target_floor = NULL, after_id = 0
WHERE destination = 'event' AND owner IS DISTINCT FROM %(owner)s
"""

_TAKE_BACK: LiteralString = """
UPDATE relay_position
SET owner = NULL, lease_until = NULL, epoch = epoch + 1, target = NULL, target_floor = NULL, after_id = 0
WHERE destination = 'event' AND owner = %(owner)s
"""

_HELD: LiteralString = "SELECT count(*) FROM relay_position WHERE destination = 'event' AND owner = %(owner)s"

_KEPT_BACK: LiteralString = """
SELECT count(*) FROM outbox_parked WHERE destination = 'event' AND state <> 'discarded'
"""

_STANDING: LiteralString = """
SELECT active, coalesce(wal_status, ''),
       coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), confirmed_flush_lsn), 0)::bigint,
       (SELECT extract(epoch FROM clock_timestamp() - max(written_at))::float8 FROM cdc_heartbeat
        WHERE lsn <= confirmed_flush_lsn)
FROM pg_replication_slots WHERE slot_name = %s
"""

_CONFIRMED: LiteralString = """
SELECT count(*) FROM cdc_heartbeat, pg_replication_slots
WHERE slot_name = %(slot)s AND lsn <= confirmed_flush_lsn AND written_at > %(since)s
"""


def make(url: str, slot: str) -> str:
    """Make the slot afresh and return a snapshot taken after it: what that sees may be in the outbox alone.

    Waits for the transactions that are open when it begins.
    """
    drop(url, slot)
    with _connect(url) as database:
        database.execute("TRUNCATE cdc_heartbeat")
        database.execute(_MAKE, [slot])
        return str(_one(database, "SELECT pg_current_snapshot()::text"))


def drop(url: str, slot: str) -> None:
    """Remove the slot, if there is one, whoever reads from it."""
    with _connect(url) as database:
        database.execute(_HOLDER, [slot])

        def gone() -> bool:
            try:
                database.execute(_DROP, [slot])
            except psycopg.errors.ObjectInUse:
                return False
            return True

        _wait(gone, 20, f"the reader of the slot {slot} to let go")


def wait_until_published(url: str, snapshot: str, seconds: float) -> None:
    """Wait until relays have published all that a snapshot sees. Raises NotReadyError."""
    with _connect(url) as database:
        _wait(
            lambda: not _one(database, _UNPUBLISHED, {"target": snapshot}),
            seconds,
            "the relays to publish what was written before the slot was made",
        )


def wait_until_confirmed(url: str, slot: str, seconds: float) -> None:
    """Wait until a heartbeat that is written from now on is confirmed. Raises NotReadyError."""
    with _connect(url) as database:
        now = _one(database, "SELECT clock_timestamp()")
        _wait(
            lambda: bool(_one(database, _CONFIRMED, {"slot": slot, "since": now})),
            seconds,
            f"the slot {slot} to confirm a heartbeat",
        )


def hand_over(url: str) -> None:
    """Give the events' positions to the connector, so that no relay takes them."""
    _execute(url, _HAND_OVER)


def take_back(url: str) -> None:
    """Free the events' positions for relays, where the last confirmed heartbeat has put them."""
    _execute(url, _TAKE_BACK)


def is_held(url: str) -> bool:
    """Tell whether the events' positions belong to the connector."""
    with _connect(url) as database:
        return bool(_one(database, _HELD, {"owner": OWNER}))


def kept_back(url: str) -> int:
    """Count the events that a relay has parked or holds behind a parked one: no connector would know of them."""
    with _connect(url) as database:
        return int(str(_one(database, _KEPT_BACK)))


def wal_level(url: str) -> str:
    with _connect(url) as database:
        return str(_one(database, "SHOW wal_level"))


def standing(url: str, slot: str) -> Standing | None:
    """Say how far a slot is; None when there is no such slot."""
    with _connect(url) as database:
        row = database.execute(_STANDING, [slot]).fetchone()
    return Standing(*row) if row else None  # type: ignore[arg-type]  # the columns are its fields, in order


def _execute(url: str, statement: LiteralString) -> None:
    with _connect(url) as database:
        database.execute(statement, {"owner": OWNER})


def _connect(url: str) -> Database:
    return psycopg.connect(url, autocommit=True, connect_timeout=5)


def _one(database: Database, query: LiteralString, parameters: dict[str, object] | None = None) -> object:
    row = database.execute(query, parameters).fetchone()
    assert row is not None
    return row[0]


def _wait(done: Callable[[], bool], seconds: float, what: str) -> None:
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            raise NotReadyError(f"Waited {seconds:.0f} s for {what}.")
        time.sleep(0.1)
