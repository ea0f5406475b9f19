"""What the databases keep: how old, how much, and what retention would delete. Numbers of inbox rows are estimates."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final, LiteralString

import psycopg
from psycopg.rows import namedtuple_row

from infra.local.deployment import Deployment
from infra.local.errors import StackError
from infra.local.services import HOUSEHOLDS, OUTBOXES
from shared.dedup_window import DEDUP_WINDOW_DAYS
from shared.retention import DISCARDED_KEPT_DAYS, MARGIN_DAYS, OUTBOX_KEPT_DAYS


@dataclass(frozen=True, slots=True)
class Store:
    """One thing that grows, in one database."""

    database: str
    what: str
    """As a run notes it."""
    oldest: date | None
    newest: date | None
    rows: int
    size_bytes: int
    kept_days: int
    would_go: int
    unit: str
    """What ``would_go`` counts: days of an inbox, rows of the others."""
    ran_at: datetime | None
    kept_because: tuple[str, ...]


# Days are tables: their names are their dates, and the rows that have none are beside them in the default partition.
_INBOX: Final[LiteralString] = """
SELECT min(day) AS oldest, max(day) FILTER (WHERE rows > 0) AS newest, coalesce(sum(rows), 0)::bigint AS rows,
  coalesce(sum(bytes), 0)::bigint AS bytes,
  count(*) FILTER (WHERE day < (now() AT TIME ZONE 'UTC')::date - %(days)s) AS would_go
FROM (SELECT CASE WHEN relname ~ '_[0-9]{8}$' THEN to_date(right(relname, 8), 'YYYYMMDD') END AS day,
             pg_stat_get_live_tuples(oid) AS rows, pg_total_relation_size(oid) AS bytes
      FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE inhparent = 'public.inbox'::regclass) AS part
"""

_OUTBOX: Final[LiteralString] = """
SELECT min(occurred_at)::date AS oldest, max(occurred_at)::date AS newest, count(*) AS rows,
  pg_total_relation_size('outbox') AS bytes,
  count(*) FILTER (WHERE occurred_at < now() - make_interval(days => %(days)s)) AS would_go
FROM outbox
"""

_PARKED: Final[LiteralString] = """
SELECT min(parked_at)::date AS oldest, max(parked_at)::date AS newest, count(*) AS rows,
  pg_total_relation_size('inbox_parked') AS bytes,
  count(*) FILTER (WHERE state = 'discarded' AND discarded_at < now() - make_interval(days => %(days)s)) AS would_go
FROM inbox_parked
"""

_RUN: Final[LiteralString] = "SELECT ran_at, kept_because FROM retention_run WHERE what = %s"


def stores(deployment: Deployment) -> list[Store]:
    """Look at every database that retention concerns. An outbox is counted, which takes a while in a large one."""
    found = []
    for database in HOUSEHOLDS:
        days = deployment.environment(f"{database}-housekeeper-1")
        window = int(days.get("DEDUP_WINDOW_DAYS", DEDUP_WINDOW_DAYS)) + MARGIN_DAYS
        given_up = int(days.get("DISCARDED_KEPT_DAYS", DISCARDED_KEPT_DAYS))
        with _connected(deployment, database) as connection:
            found.append(_store(connection, database, "inbox", _INBOX, window, "days"))
            found.append(_store(connection, database, "inbox lot", _PARKED, given_up, "rows"))
            if database in OUTBOXES:
                outbox = int(days.get("OUTBOX_KEPT_DAYS", OUTBOX_KEPT_DAYS))
                found.append(_store(connection, database, "outbox", _OUTBOX, outbox, "rows"))
    return found


@contextmanager
def _connected(deployment: Deployment, database: str) -> Iterator[psycopg.Connection[Any]]:
    try:
        with psycopg.connect(deployment.superuser_url(database), row_factory=namedtuple_row) as connection:
            yield connection
    except (psycopg.OperationalError, psycopg.errors.UndefinedTable) as error:
        raise StackError(
            f"The database of {database} cannot be looked at: {str(error).strip().splitlines()[0]}. `once up` starts "
            "the servers, makes the databases and brings them up to date."
        ) from error


def _store(
    connection: psycopg.Connection[Any], database: str, what: str, query: LiteralString, days: int, unit: str
) -> Store:
    (row,) = connection.execute(query, {"days": days}).fetchall()
    ran = connection.execute(_RUN, [what]).fetchone()
    kept_because = tuple(ran.kept_because.splitlines()) if ran else ()
    return Store(
        database, what, row.oldest, row.newest, row.rows, row.bytes, days, row.would_go, unit,
        ran.ran_at if ran else None, kept_because,
    )  # fmt: skip
