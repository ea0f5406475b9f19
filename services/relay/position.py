"""A relay's place in the outbox: what is done, and where the pass in hand stands.

The outbox is never marked, so this place is all that says what has been published. It is made of snapshots that really
existed, not of a highest id, because ids are drawn before commit: a transaction that commits late has a low id, and a
cursor by id would jump over it.

Invariant: what is visible in ``done``, or visible in ``target`` with an id up to ``after_id``, is published. Every row
with an id up to ``floor_id`` is visible in ``done`` or was in progress in it, so a pass needs to look only behind the
floor and at the few transactions that ``done`` lists.

Rows of one aggregate have ids in the order of their versions, since writers hold the aggregate's lock before an id is
drawn. A snapshot holds a prefix of every aggregate's versions. So passes in id order publish first copies in order.

All functions here are for the primary: on a standby the list of transactions in progress is empty.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, LiteralString, NamedTuple, Self

from psycopg import Connection

from services.relay.caution import CALM, Caution

Database = Connection[tuple[object, ...]]
"""A connection in autocommit mode: no transaction is open while the broker is waited for."""


@dataclass(frozen=True, slots=True)
class Position:
    """Five fields, always written and compared together. Snapshots in PostgreSQL's text form."""

    done: str
    floor_id: int
    target: str | None
    target_floor: int | None
    after_id: int

    def begin(self, target: str, sequence_floor: int) -> Self:
        """Begin a pass up to ``target``, unless one is in hand: a stored pass ends with what was stored."""
        if self.target is not None:
            return self
        return replace(self, target=target, target_floor=max(self.floor_id, sequence_floor), after_id=0)

    def advance(self, last_id: int) -> Self:
        """Move on in the pass: rows up to this id are published."""
        return replace(self, after_id=last_id)

    def finish(self) -> Self:
        """End the pass: all that ``target`` sees is published."""
        assert self.target is not None
        assert self.target_floor is not None
        return replace(self, done=self.target, floor_id=self.target_floor, target=None, target_floor=None, after_id=0)

    def in_progress(self) -> list[str]:
        """Return the transactions that ``done`` lists as running: their rows may lie below the floor."""
        listed = self.done.rpartition(":")[2]
        return listed.split(",") if listed else []


class Row(NamedTuple):
    """One event of the outbox, as the transports need it."""

    id: int
    event_id: str
    aggregate_type: str
    aggregate_id: str
    aggregate_version: int
    type: str
    source: str
    dataschema: str
    payload: bytes
    traceparent: str | None
    occurred_at: str
    """RFC 3339, UTC, six digits: as it stands in the header."""


# Text where the header has text: what is not parsed here need not be written again there.
COLUMNS: LiteralString = """
id, event_id::text, aggregate_type, aggregate_id, aggregate_version, type, source, dataschema, payload, traceparent,
to_char(occurred_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"""
"""The columns of a Row, in the order of its fields."""

# Two arms with a limit each, so that both start from an index whatever the statistics say: rows behind the floor by
# id, and the rows of late commits below it by transaction. One WHERE with OR took thousands of times as long.
_READ: LiteralString = f"""
SELECT {COLUMNS} FROM (
  (SELECT * FROM outbox
   WHERE id > greatest(%(floor_id)s, %(after_id)s) AND destination = %(destination)s AND lane = ANY(%(lanes)s)
     AND NOT pg_visible_in_snapshot(xid, %(done)s::pg_snapshot)
     AND pg_visible_in_snapshot(xid, %(target)s::pg_snapshot)
   ORDER BY id LIMIT %(limit)s)
  UNION ALL
  (SELECT late.* FROM unnest(%(in_progress)s::xid8[]) AS running (xid) CROSS JOIN LATERAL (
     SELECT * FROM outbox
     WHERE outbox.xid = running.xid AND id > %(after_id)s AND id <= %(floor_id)s
       AND destination = %(destination)s AND lane = ANY(%(lanes)s)
     ORDER BY outbox.xid, id LIMIT %(limit)s) AS late
   WHERE pg_visible_in_snapshot(running.xid, %(target)s::pg_snapshot))
) AS pending
ORDER BY id LIMIT %(limit)s
"""  # noqa: S608  # a constant of ours


def look_by_index(database: Database) -> None:
    """Keep this session's plans to the indexes, whatever the statistics say.

    Behind a floor there are few rows or none, and the planner cannot know it. Where it believes that few rows match, as
    it does of a table that was filled after it was analysed, it reads the whole history and sorts: 0.5 s a look at a
    million rows instead of a millisecond.
    """
    database.execute("SELECT set_config(name, 'off', false) FROM unnest(%s::text[]) AS name", [_PLANS_TO_AVOID])


_PLANS_TO_AVOID: Final = ["enable_seqscan", "enable_bitmapscan", "enable_sort"]


def read(database: Database, position: Position, destination: str, lanes: Sequence[int], limit: int) -> list[Row]:
    """Return the next rows of the pass in hand, in id order; fewer than ``limit``: the pass ends with them."""
    found = database.execute(
        _READ,
        {
            "floor_id": position.floor_id,
            "after_id": position.after_id,
            "done": position.done,
            "target": position.target,
            "in_progress": position.in_progress(),
            "destination": destination,
            "lanes": list(lanes),
            "limit": limit,
        },
        binary=True,
    )
    return list(map(Row._make, found))


def current_snapshot(database: Database) -> str:
    """Return what is visible now, in a statement of its own.

    It must come after the write that made a sequence value usable as a floor: read in one statement with it, a running
    transaction above the snapshot's xmax would be in no list, and its rows would be lost.
    """
    (snapshot,) = _one(database, "SELECT pg_current_snapshot()::text")
    return str(snapshot)


def last_drawn_id(database: Database) -> int:
    """Return the highest id drawn from the outbox's sequence, 0 before the first.

    Usable as a floor only after a write of our own that *began later* has committed: that write has a higher
    transaction id than any row up to this id, so every later snapshot sees those rows' transactions or lists them.
    """
    (value,) = _one(database, "SELECT coalesce(pg_sequence_last_value('outbox_id_seq'), 0)")
    return int(str(value))


_SETTLE: LiteralString = """
UPDATE relay_position
SET done = %(done)s::pg_snapshot, floor_id = %(floor_id)s, target = %(target)s::pg_snapshot,
    target_floor = %(target_floor)s, after_id = %(after_id)s,
    stalls = %(stalls)s, suspect_id = %(suspect_id)s, suspect_tries = %(suspect_tries)s
WHERE position_id = %(position_id)s AND owner = %(owner)s AND epoch = %(epoch)s
"""


def settle(
    database: Database, position_id: int, owner: str, epoch: int, position: Position, caution: Caution = CALM
) -> bool:
    """Write a position down if it is still ours: the epoch is the fencing token. Returns whether it was.

    A position that has moved is worked on without ``caution`` from then on, unless told otherwise.
    """
    cursor = database.execute(
        _SETTLE,
        {
            "position_id": position_id,
            "owner": owner,
            "epoch": epoch,
            "done": position.done,
            "floor_id": position.floor_id,
            "target": position.target,
            "target_floor": position.target_floor,
            "after_id": position.after_id,
            "stalls": caution.stalls,
            "suspect_id": caution.suspect_id,
            "suspect_tries": caution.suspect_tries,
        },
    )
    return cursor.rowcount == 1


def _one(database: Database, query: LiteralString) -> tuple[object, ...]:
    row = database.execute(query).fetchone()
    assert row is not None
    return row
