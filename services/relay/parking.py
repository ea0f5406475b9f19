"""The outbox's parking lot, as the owner of a lane works with it.

Invariant: a row that the position has passed is published or in ``outbox_parked``. Both are written in one transaction,
under the epoch of the position, so a row is never both parked and lost, whoever dies when. While an aggregate has a row
here that is not discarded, its newer rows come here too (``held``), so none overtakes.

The first row of an aggregate decides: while it is ``parked``, a person is waited for. In any other state the rows are
sent again in their order, each removed under the owner's epoch once it is acknowledged.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, LiteralString

from psycopg.rows import class_row

from services.relay import position as place
from services.relay.caution import Caution
from services.relay.lanes import Held
from services.relay.position import Database, Position, Row
from shared.errors import FencedError

Aggregate = tuple[str, str]
LOOK_SECONDS: Final = 0.5
REDRIVE_TRIES: Final = 3


@dataclass(frozen=True, slots=True)
class Parked:
    """The row that is put away, and why."""

    row: Row
    error: str
    attempts: int


@dataclass(frozen=True, slots=True)
class Front:
    """The first row of an aggregate that is in the lot."""

    outbox_id: int
    state: str
    lane: int
    aggregate_type: str
    aggregate_id: str
    tries: int


_PUT: LiteralString = """
INSERT INTO outbox_parked (outbox_id, state, attempts, last_error, destination, lane, aggregate_type, aggregate_id)
SELECT id, %(state)s, %(attempts)s, %(error)s, destination, lane, aggregate_type, aggregate_id
FROM outbox WHERE id = ANY(%(ids)s)
ON CONFLICT (outbox_id) DO NOTHING
"""

_FRONTS: LiteralString = """
SELECT DISTINCT ON (aggregate_type, aggregate_id) outbox_id, state, lane, aggregate_type, aggregate_id, tries
FROM outbox_parked
WHERE destination = %(destination)s AND lane = ANY(%(lanes)s) AND state <> 'discarded'
ORDER BY aggregate_type, aggregate_id, outbox_id
"""

_FRONT: LiteralString = """
SELECT outbox_id, state, lane, aggregate_type, aggregate_id, tries FROM outbox_parked
WHERE destination = %(destination)s AND aggregate_type = %(aggregate_type)s AND aggregate_id = %(aggregate_id)s
  AND state <> 'discarded'
ORDER BY outbox_id LIMIT 1
"""

_COUNT: LiteralString = """
SELECT state, count(*) FROM outbox_parked WHERE destination = %(destination)s AND lane = ANY(%(lanes)s) GROUP BY state
"""

# Every change of an entry by its owner: only while the epoch is ours, and a person has not decided otherwise meanwhile.
_MINE: LiteralString = """
WITH mine AS (
  SELECT position_id FROM relay_position
  WHERE position_id = %(position_id)s AND epoch = %(epoch)s AND owner = %(name)s FOR UPDATE)
"""
_TRY: LiteralString = (
    _MINE
    + """
UPDATE outbox_parked SET state = 'redriving', tries = tries + 1 FROM mine
WHERE outbox_id = %(outbox_id)s AND state IN ('held', 'redriving')
"""
)
_POSTPONE: LiteralString = (
    _MINE
    + """
UPDATE outbox_parked SET tries = 0 FROM mine WHERE outbox_id = %(outbox_id)s AND state = 'redriving'
"""
)
_PARK_AGAIN: LiteralString = (
    _MINE
    + """
UPDATE outbox_parked SET state = 'parked', attempts = attempts + %(attempts)s, last_error = %(error)s, tries = 0
FROM mine WHERE outbox_id = %(outbox_id)s AND state IN ('held', 'redriving')
"""
)
_SENT: LiteralString = (
    _MINE
    + """
DELETE FROM outbox_parked USING mine WHERE outbox_id = %(outbox_id)s
"""
)

_ROW: LiteralString = f"SELECT {place.COLUMNS} FROM outbox WHERE id = %(outbox_id)s"  # noqa: S608  # a constant of ours


class Parking:
    """One relay's view of the lot, for the lanes that it holds. Forgotten with its connection."""

    def __init__(self, database: Database, destination: str, name: str) -> None:
        self._database = database
        self._destination = destination
        self._name = name
        self._blocked: set[Aggregate] = set()
        self._next_look = 0.0

    def blocks(self, row: Row) -> bool:
        """Tell whether this row has to wait behind an earlier one of its aggregate."""
        return (row.aggregate_type, row.aggregate_id) in self._blocked

    def __bool__(self) -> bool:
        """Tell whether anything waits here."""
        return bool(self._blocked)

    def look(self, lanes: Iterable[int]) -> list[Front]:
        """Read what waits on these lanes. To be called when lanes are taken, and now and then while something waits."""
        with self._database.cursor(row_factory=class_row(Front)) as cursor:
            fronts = cursor.execute(_FRONTS, {"destination": self._destination, "lanes": list(lanes)}).fetchall()
        self._blocked = {(front.aggregate_type, front.aggregate_id) for front in fronts}
        return fronts

    def due(self, lanes: Iterable[int]) -> list[Front]:
        """Return the rows that are to be sent again now, one an aggregate."""
        if not self._blocked or time.monotonic() < self._next_look:
            return []
        begun = time.monotonic()
        fronts = self.look(lanes)
        # A lot that is slow to read, since much is in it, is read less often.
        self._next_look = time.monotonic() + max(LOOK_SECONDS, 20 * (time.monotonic() - begun))
        return [front for front in fronts if front.state != "parked"]

    def counts(self, lanes: Iterable[int]) -> dict[str, int]:
        found = self._database.execute(_COUNT, {"destination": self._destination, "lanes": list(lanes)})
        return {str(state): int(str(count)) for state, count in found}

    def settle(
        self, held: Held, position: Position, caution: Caution, parked: Parked | None, behind: Sequence[Row]
    ) -> None:
        """Move the position over rows that are put away, in one transaction with them. Raises FencedError."""
        with self._database.transaction():
            if not place.settle(self._database, held.position_id, self._name, held.epoch, position, caution):
                raise FencedError
            if parked is not None:
                self._put("parked", parked.attempts, parked.error, [parked.row.id])
            if behind:
                self._put("held", 0, "an earlier event of its aggregate is parked", [row.id for row in behind])
        if parked is not None:
            self._blocked.add((parked.row.aggregate_type, parked.row.aggregate_id))

    def _put(self, state: str, attempts: int, error: str, ids: list[int]) -> None:
        # An id that is there already was put away by the life before, which could not be sure of its commit.
        self._database.execute(_PUT, {"state": state, "attempts": attempts, "error": error, "ids": ids})

    # Sending again

    def row(self, front: Front) -> Row:
        found = self._database.execute(_ROW, {"outbox_id": front.outbox_id}, binary=True).fetchone()
        assert found is not None, "a foreign key keeps the row of a parked event"
        return Row(*found)  # type: ignore[arg-type]  # the columns are Row's fields, in order

    def next_of(self, front: Front) -> Front | None:
        """Return the front of the same aggregate as it is now. None: nothing waits, and its newer rows may go."""
        with self._database.cursor(row_factory=class_row(Front)) as cursor:
            found = cursor.execute(
                _FRONT,
                {
                    "destination": self._destination,
                    "aggregate_type": front.aggregate_type,
                    "aggregate_id": front.aggregate_id,
                },
            ).fetchone()
        if found is None:
            self._blocked.discard((front.aggregate_type, front.aggregate_id))
        return found

    def begin_try(self, held: Held, front: Front) -> bool:
        """Write down that the row is tried, so that one which kills the process is found. False: not ours to try."""
        return self._change(_TRY, held, front)

    def postpone(self, held: Held, front: Front) -> None:
        """The receiver is away: the request stands, and the try does not count."""
        self._change(_POSTPONE, held, front)

    def park_again(self, held: Held, front: Front, error: str, attempts: int) -> None:
        self._change(_PARK_AGAIN, held, front, error=error, attempts=attempts)

    def sent(self, held: Held, front: Front) -> bool:
        """Take an acknowledged row out of the lot. False: somebody else owns the lane by now, and has sent it too."""
        return self._change(_SENT, held, front)

    def _change(self, statement: LiteralString, held: Held, front: Front, **more: object) -> bool:
        tokens = {"position_id": held.position_id, "epoch": held.epoch, "name": self._name}
        return self._database.execute(statement, tokens | {"outbox_id": front.outbox_id} | more).rowcount == 1
