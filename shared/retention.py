"""Delete what nobody needs any more: old days of the inbox, published rows of the outbox, entries that were given up.

Invariant: an event that is forgotten is one that is refused. Days go only when they lie beyond the dedup window by a
margin, and an entry that was given up, which marks its event, no sooner than that.

In bounded batches, each a short transaction of its own. What a run could not delete, and why, it says and writes down;
the next one tries again. May run beside everything else, also beside itself.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, LiteralString

from psycopg import Connection
from psycopg.errors import LockNotAvailable
from sqlalchemy import BigInteger, Column, DateTime, MetaData, Table, Text, func

from shared import database, outbox_retention
from shared.errors import ConfigurationError
from shared.inbox_partitions import IS_V7

Database = Connection[tuple[Any, ...]]

OUTBOX_KEPT_DAYS: Final = 14
DISCARDED_KEPT_DAYS: Final = 90
EVERY_SECONDS: Final = 6 * 3600.0
MARGIN_DAYS: Final = 1
"""Beyond the window, for clocks that differ and an event that is on its way while its day is dropped."""

BATCH: Final = 5_000
_DAY_SECONDS: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class Rules:
    """For how many days what is kept. Each is the age of a thing, not of a run."""

    dedup_window_days: int
    outbox_kept_days: int
    discarded_kept_days: int

    @classmethod
    def checked(cls, dedup_window_days: int, outbox_kept_days: int, discarded_kept_days: int) -> "Rules":
        """Make the rules of a service. Raises ConfigurationError when an entry would go before its event is refused."""
        if discarded_kept_days <= dedup_window_days:
            raise ConfigurationError(
                f"DISCARDED_KEPT_DAYS={discarded_kept_days} is not longer than DEDUP_WINDOW_DAYS={dedup_window_days}: "
                "an event that was given up would be applied if it came again. Set DISCARDED_KEPT_DAYS to "
                f"{dedup_window_days + 1} or more, and start again."
            )
        return cls(dedup_window_days, outbox_kept_days, discarded_kept_days)


@dataclass(frozen=True, slots=True)
class Done:
    """What a run deleted of one thing, and in words why not more."""

    what: str
    deleted: int
    kept_because: tuple[str, ...] = ()


def retention_table(metadata: MetaData) -> Table:
    """Declare where a run notes what it did, in a database's metadata."""
    return Table(
        "retention_run",
        metadata,
        Column("what", Text, primary_key=True),
        Column("ran_at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
        Column("deleted", BigInteger, nullable=False),
        Column("kept_because", Text, nullable=False),
    )


BOUNDED_DROP: Final = (
    # A bound on what has no day of its own: the rest is left for the next call. And an id without a time is kept for
    # ever, since no consumer would refuse its event.
    f"""
CREATE OR REPLACE FUNCTION inbox_drop_days(before date) RETURNS TABLE (days integer, rows bigint) LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
  part text;
BEGIN
  IF before >= (now() AT TIME ZONE 'UTC')::date THEN
    RAISE EXCEPTION 'the inbox of today and later cannot be dropped: %', before;
  END IF;
  days := 0;
  FOR part IN SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
              WHERE i.inhparent = 'inbox'::regclass AND c.relname ~ '^inbox_[0-9]{{8}}$'
                AND to_date(right(c.relname, 8), 'YYYYMMDD') < before ORDER BY 1 LOOP
    EXECUTE format('DROP TABLE %I', part);
    days := days + 1;
  END LOOP;
  DELETE FROM inbox_default WHERE ctid = ANY (ARRAY (
    SELECT ctid FROM inbox_default
    WHERE {IS_V7} AND event_id < inbox_first_id(before) LIMIT {BATCH}));
  GET DIAGNOSTICS rows = ROW_COUNT;
  RETURN NEXT;
END $$
""",  # noqa: S608  # a constant of ours
)
"""For a migration. The rights on the function stay as they are."""

_DROP_DAYS: LiteralString = """
SELECT days, rows FROM inbox_drop_days((now() AT TIME ZONE 'UTC')::date - %s)
"""

_DROP_DISCARDED: LiteralString = """
DELETE FROM inbox_parked WHERE id = ANY (ARRAY (
  SELECT id FROM inbox_parked WHERE state = 'discarded' AND discarded_at < clock_timestamp() - make_interval(days => %s)
  ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED))
"""

_NOTE: LiteralString = """
INSERT INTO retention_run (what, deleted, kept_because) VALUES (%(what)s, %(deleted)s, %(kept_because)s)
ON CONFLICT (what) DO UPDATE
SET ran_at = clock_timestamp(), deleted = excluded.deleted, kept_because = excluded.kept_because
"""


def run(connection: Database, rules: Rules, *, outbox: bool) -> list[Done]:
    """Delete what may go, and note what was done. ``outbox``: whether this database has one."""
    steps: Mapping[str, Callable[[Database, Rules], Done]] = {
        "inbox": _inbox,
        "inbox lot": _inbox_lot,
        **({"outbox": _outbox} if outbox else {}),
    }
    return [_noted(connection, step(connection, rules)) for step in steps.values()]


def chore(access: tuple[str, str, str], rules: Rules, *, outbox: bool) -> dict[str, object]:
    """Run it on a connection of its own, as a housekeeper does by the clock. Says what it did, if anything."""
    with database.connect(*access) as connection:
        done = run(connection, rules, outbox=outbox)
    return {each.what.replace(" ", "_"): asdict(each) for each in done if each.deleted or each.kept_because}


def _inbox(connection: Database, rules: Rules) -> Done:
    deleted = 0
    while True:
        try:
            row = connection.execute(_DROP_DAYS, [rules.dedup_window_days + MARGIN_DAYS]).fetchone()
        except LockNotAvailable:
            why = "Consumers left no moment to drop old days within 2 s. The next run tries again."
            return Done("inbox", deleted, (why,))
        days, rows = row or (0, 0)
        deleted += days + rows
        if rows < BATCH:
            return Done("inbox", deleted)


def _inbox_lot(connection: Database, rules: Rules) -> Done:
    deleted = 0
    while (gone := connection.execute(_DROP_DISCARDED, [rules.discarded_kept_days, BATCH]).rowcount) > 0:
        deleted += gone
    return Done("inbox lot", deleted)


def _outbox(connection: Database, rules: Rules) -> Done:
    age, given_up = rules.outbox_kept_days * _DAY_SECONDS, rules.discarded_kept_days * _DAY_SECONDS
    purged = outbox_retention.purge(connection, age, BATCH, given_up)
    return Done("outbox", purged.deleted, purged.kept_because)


def _noted(connection: Database, done: Done) -> Done:
    connection.execute(_NOTE, {**asdict(done), "kept_because": "\n".join(done.kept_because)})
    return done
