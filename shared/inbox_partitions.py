"""The inbox in daily partitions by the event's own time, so that old days are dropped instead of deleted row by row.

The key has to stay unique over the whole table, so the partition must follow from the key. It does: an event's id is a
UUID of version 7, which begins with its time, so a range of ids is a day. Partitioned by the time of *arrival* a
redelivery after midnight would meet another partition and be taken for new.

Invariant: an id is always looked for where it was put. Ids of no day that has a partition (another UUID version, a
clock far off, an event older than the table) are in the default partition; making a day's partition moves its rows.

The functions run with the owner's rights, so that a housekeeper can make and drop days, and nothing else.
"""

import re
from collections.abc import Callable
from typing import Final

from sqlalchemy import Engine, text

from shared import database

DEFAULT: Final = "inbox_default"
DAYS_AHEAD: Final = 7

_PARTITION: Final = re.compile(r"inbox_(default|\d{8})")


def is_partition(table: str) -> bool:
    """Tell whether a table is a part of the inbox, which the declarations know only as a whole."""
    return _PARTITION.fullmatch(table) is not None


IS_V7: Final = "get_byte(uuid_send(event_id), 6) >> 4 = 7 AND get_byte(uuid_send(event_id), 8) >> 6 = 2"
"""Whether an id begins with its time: version 7 and RFC 9562's variant. PostgreSQL has a function for it from 17 on."""

FUNCTIONS: Final = (
    # The first 48 bits of a UUIDv7 are milliseconds since 1970: the smallest id that a day can have.
    """
CREATE FUNCTION inbox_first_id(day date) RETURNS uuid LANGUAGE sql IMMUTABLE SET search_path = pg_catalog AS $$
  SELECT (lpad(to_hex((extract(epoch FROM day::timestamp) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid $$
""",
    # Nobody inserts while a day is made: a statement that still knows the old days would put a row of this one into
    # the default partition. Where nothing is missing nothing is locked.
    """
CREATE FUNCTION inbox_make_days(first date, last date) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER
SET search_path = public, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
  missing date[] := ARRAY(SELECT day::date FROM generate_series(first, last, interval '1 day') AS day
                          WHERE to_regclass('inbox_' || to_char(day, 'YYYYMMDD')) IS NULL);
  day date;
  part text;
BEGIN
  IF cardinality(missing) = 0 THEN RETURN 0; END IF;
  IF cardinality(missing) > 400 THEN RAISE EXCEPTION 'more than 400 days at once: %', cardinality(missing); END IF;
  LOCK TABLE inbox IN ACCESS EXCLUSIVE MODE;
  FOREACH day IN ARRAY missing LOOP
    part := 'inbox_' || to_char(day, 'YYYYMMDD');
    CONTINUE WHEN to_regclass(part) IS NOT NULL;  -- made by another while we waited
    EXECUTE format('CREATE TABLE %I (LIKE inbox INCLUDING ALL)', part);
    EXECUTE format('WITH moved AS (DELETE FROM inbox_default WHERE event_id >= %L AND event_id < %L RETURNING *)
                    INSERT INTO %I SELECT * FROM moved', inbox_first_id(day), inbox_first_id(day + 1), part);
    EXECUTE format('ALTER TABLE inbox ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
                   part, inbox_first_id(day), inbox_first_id(day + 1));
  END LOOP;
  RETURN cardinality(missing);
END $$
""",
    # What is in the default partition has no day of its own: it goes by its id's time, or, without one, by its arrival.
    f"""
CREATE FUNCTION inbox_drop_days(before date) RETURNS TABLE (days integer, rows bigint) LANGUAGE plpgsql SECURITY DEFINER
SET search_path = public, pg_temp SET lock_timeout = '2s' AS $$
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
  DELETE FROM inbox_default WHERE CASE WHEN {IS_V7}
    THEN event_id < inbox_first_id(before) ELSE applied_at < before::timestamp AT TIME ZONE 'UTC' END;
  GET DIAGNOSTICS rows = ROW_COUNT;
  RETURN NEXT;
END $$
""",  # noqa: S608  # a constant of ours
    "REVOKE ALL ON FUNCTION inbox_make_days(date, date), inbox_drop_days(date) FROM PUBLIC",
)

MAKE_DAYS: Final = f"""
SELECT inbox_make_days((now() AT TIME ZONE 'UTC')::date - 1, (now() AT TIME ZONE 'UTC')::date + {DAYS_AHEAD})
"""
"""Make yesterday's to next week's partition, where they are missing."""

EVERY_SECONDS: Final = 3600.0
"""How often a housekeeper looks whether a day is missing; a week is made ahead."""


def make_days(engine: Engine) -> dict[str, object]:
    """Make the days that are missing, as a housekeeper's chore. Raises when consumers left no moment for it."""
    with database.transaction(engine) as connection:
        made = connection.execute(text(MAKE_DAYS)).scalar_one()
    return {"days_made": made} if made else {}


# What the table says of itself, its schema's version above all, is not copied with its columns.
_KEEP_COMMENT: Final = """
DO $$ BEGIN EXECUTE format('COMMENT ON TABLE inbox IS %L', obj_description('{before}'::regclass, 'pg_class')); END $$
"""

_CONVERT: Final = (
    "LOCK TABLE inbox IN ACCESS EXCLUSIVE MODE",
    "ALTER TABLE inbox RENAME TO inbox_whole",
    "ALTER INDEX inbox_pkey RENAME TO inbox_whole_pkey",
    "CREATE TABLE inbox (LIKE inbox_whole INCLUDING ALL) PARTITION BY RANGE (event_id)",
    _KEEP_COMMENT.format(before="inbox_whole"),
    f"CREATE TABLE {DEFAULT} PARTITION OF inbox DEFAULT",
    *FUNCTIONS,
    MAKE_DAYS,
    # The days of what is there; older rows stay in the default partition until they are too old to be kept.
    f"""
SELECT inbox_make_days(day, day) FROM (
  SELECT DISTINCT (to_timestamp(('x' || left(replace(event_id::text, '-', ''), 12))::bit(48)::bigint / 1000.0)
                   AT TIME ZONE 'UTC')::date AS day FROM inbox_whole
  WHERE {IS_V7}
    AND event_id >= inbox_first_id((now() AT TIME ZONE 'UTC')::date - 60) AND event_id < inbox_first_id(current_date)
) AS days
""",  # noqa: S608  # a constant of ours
    "INSERT INTO inbox SELECT * FROM inbox_whole",
    "DROP TABLE inbox_whole",
)

_CONVERT_BACK: Final = (
    "LOCK TABLE inbox IN ACCESS EXCLUSIVE MODE",
    "DROP FUNCTION inbox_drop_days, inbox_make_days, inbox_first_id",
    "ALTER TABLE inbox RENAME TO inbox_in_days",
    "ALTER INDEX inbox_pkey RENAME TO inbox_in_days_pkey",
    "CREATE TABLE inbox (LIKE inbox_in_days INCLUDING ALL)",
    _KEEP_COMMENT.format(before="inbox_in_days"),
    "INSERT INTO inbox SELECT * FROM inbox_in_days",
    "DROP TABLE inbox_in_days",
)


def divide(execute: Callable[[str], object]) -> None:
    """For a migration: turn the inbox into daily partitions, with every row it has. Writers wait meanwhile."""
    for statement in _CONVERT:
        execute(statement)


def unite(execute: Callable[[str], object]) -> None:
    """For a migration: turn the inbox back into one table, with every row it has."""
    for statement in _CONVERT_BACK:
        execute(statement)
