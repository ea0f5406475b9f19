"""What must hold: nothing lost, nothing settled that is not in the log, first copies in version order, and positions
that only go forward.

The last is seen by a trigger, at the very update. Settled twice is mostly harmless, so that what a stale relay writes
over another's position would be found by its damage only now and then.
"""

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

# Of two snapshots of one server the later has the higher ends; a pass goes on by after_id, its end takes over target.
WATCH: LiteralString = """
CREATE TABLE went_back (writer text, told text, gone text);
CREATE FUNCTION watch_position() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF row(pg_snapshot_xmax(NEW.done), pg_snapshot_xmin(NEW.done))
     < row(pg_snapshot_xmax(OLD.done), pg_snapshot_xmin(OLD.done))
     OR (NEW.done::text = OLD.done::text AND OLD.target IS NOT NULL AND NEW.target IS NULL)
     OR (NEW.done::text = OLD.done::text AND NEW.target::text = OLD.target::text AND NEW.after_id < OLD.after_id) THEN
    INSERT INTO went_back VALUES (current_setting('application_name'), OLD::text, NEW::text);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER watch_position AFTER UPDATE OF done, target, after_id ON relay_position
FOR EACH ROW EXECUTE FUNCTION watch_position()
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
        if back := self._count("SELECT count(*) FROM went_back"):
            found.append(f"a position was written over with an earlier one, {back} times")
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
