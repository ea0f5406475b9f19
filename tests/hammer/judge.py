"""What must hold: nothing lost, nothing settled that is not in the log, first copies in version order."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

import psycopg

from tests.hammer.broker import Log

_COVERED: LiteralString = """
SELECT outbox.event_id,
       coalesce(pg_visible_in_snapshot(xid, done) OR (id <= after_id AND pg_visible_in_snapshot(xid, target)), false)
FROM outbox JOIN relay_lane USING (destination, lane) JOIN relay_position USING (position_id)
"""
_ILL_WRITTEN: LiteralString = """
SELECT count(*) FROM (SELECT aggregate_version, row_number() OVER (PARTITION BY aggregate_id ORDER BY id) AS place
                      FROM outbox) AS numbered WHERE aggregate_version <> place
"""


@dataclass(frozen=True, slots=True)
class Standing:
    """How outbox and positions stand at one moment, seen by one statement."""

    existing: set[UUID]
    covered: set[UUID]

    @property
    def pending(self) -> int:
        return len(self.existing) - len(self.covered)


class Judge:
    """Compares the table with the log. ``crashes``: the server may have forgotten events that were published."""

    def __init__(self, connect: Callable[[], psycopg.Connection[Any]], log: Log, *, crashes: bool) -> None:
        self._connect = connect
        self._log = log
        self._crashes = crashes

    def standing(self) -> Standing:
        with self._connect() as connection:
            rows = connection.execute(_COVERED, binary=True).fetchall()
        return Standing({event_id for event_id, _ in rows}, {event_id for event_id, covered in rows if covered})

    def look(self, standing: Standing) -> list[str]:
        """Return what is wrong by now. The log is read after the table: it may only have more by then."""
        found = self._log.inversions(standing.existing if self._crashes else None)
        if lost := standing.covered - self._log.event_ids():
            found.append(f"{len(lost)} events are settled and not in the log, one of them {min(lost)}")
        return found

    def at_the_end(self) -> list[str]:
        """Return what is wrong when all is quiet: beyond the above, an event that never arrived."""
        standing = self.standing()
        found = self.look(standing)
        if missing := standing.existing - self._log.event_ids():
            found.append(f"{len(missing)} events of the outbox never came into the log, one of them {min(missing)}")
        return found

    def prepared(self) -> int:
        """Count the transactions that are prepared and not ended: their rows are still to come."""
        return self._count("SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()")

    def ill_written(self) -> int:
        """Count rows whose id is out of the order of versions: a fault of the writers, which makes all else moot."""
        return self._count(_ILL_WRITTEN)

    def _count(self, query: LiteralString) -> int:
        with self._connect() as connection:
            row = connection.execute(query).fetchone()
        assert row is not None
        return int(row[0])
