"""Make room for a second version of the read model beside the live one, and put it in the live one's place.

A version is the tables of the read model with the inbox in front of them. The live one is in ``public``; one that is
being built is in a schema of its own, which its consumer reaches by its search path, so that the same code fills both.

Invariant: the live version is whole at every moment. Until the switch nothing of it is touched, and the switch is one
transaction: a crash before it leaves the old version, a crash after it the new one.

Not promised here: that the new version has all that the old one had. Whoever asks for the switch has seen to that
(``infra/replay/rebuild.py``): consumers are stopped, and the new version has read up to where they stood.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, LiteralString

from psycopg import Connection, sql
from psycopg.errors import LockNotAvailable

from services.analytics.tables import VERSION
from shared.errors import RefusedError

Database = Connection[tuple[Any, ...]]

PREFIX: Final = "rebuild_"
WAIT_SECONDS: Final = 10.0

_PARTS: LiteralString = """
SELECT part.relname, pg_get_expr(part.relpartbound, part.oid)
FROM pg_inherits JOIN pg_class part ON part.oid = inhrelid
WHERE inhparent = to_regclass(%s) ORDER BY part.relname
"""

_KEY: LiteralString = "SELECT pg_get_partkeydef(to_regclass(%s))"

# Rights on tables and on single columns; the owner's own are there without saying.
_RIGHTS: LiteralString = """
SELECT privilege_type, NULL, grantee::regrole::text FROM pg_class, aclexplode(relacl)
WHERE oid = to_regclass(%(table)s) AND grantee <> relowner
UNION ALL
SELECT privilege_type, attname, grantee::regrole::text FROM pg_attribute, aclexplode(attacl)
WHERE attrelid = to_regclass(%(table)s)
"""

_WHO: LiteralString = """
SELECT DISTINCT grantee::regrole::text FROM pg_namespace, aclexplode(nspacl)
WHERE nspname = 'public' AND privilege_type = 'USAGE' AND grantee <> 0 AND grantee <> nspowner
"""

# What a person has given up stays so: the new version has parked it again, if it cannot apply it either.
_KEEP_DECISIONS: LiteralString = """
UPDATE {}.inbox_parked AS anew
SET state = 'discarded', discarded_reason = live.discarded_reason, discarded_at = live.discarded_at
FROM public.inbox_parked AS live
WHERE live.state = 'discarded' AND live.consumer = anew.consumer
  AND (live.event_id = anew.event_id
       OR live.event_id IS NULL AND anew.event_id IS NULL
          AND (live.topic, live.partition, live."offset") = (anew.topic, anew.partition, anew."offset"))
"""

_COMMENT: LiteralString = "SELECT obj_description(to_regclass(%s), 'pg_class')"

_LEFT: LiteralString = "SELECT nspname FROM pg_namespace WHERE nspname LIKE %s ORDER BY 1"
_MADE_OF: LiteralString = "SELECT obj_description(to_regnamespace(%s), 'pg_namespace')"
_REVISION: LiteralString = "SELECT version_num FROM alembic_version"


@dataclass(frozen=True, slots=True)
class Version:
    """A version of the read model that is being built."""

    schema: str


@dataclass(frozen=True, slots=True)
class Removed:
    schemas: list[str]


def begin(database: Database) -> Version:
    """Make an empty version beside the live one; what earlier attempts have left goes."""
    clean(database)
    schema = f"{PREFIX}{datetime.now(UTC):%Y%m%d%H%M%S}"
    with database.transaction():
        database.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
        for role in _column(database, _WHO):
            _run(database, "GRANT USAGE ON SCHEMA {} TO {}", schema, role)
        for table in VERSION:
            _make(database, schema, table)
        # Of which revision it is: a migration in between would be undone by the switch.
        comment = sql.SQL("COMMENT ON SCHEMA {} IS {}")
        database.execute(comment.format(sql.Identifier(schema), sql.Literal(_revision(database))))
    return Version(schema)


def switch(database: Database, schema: str) -> Version:
    """Put a version in the place of the live one, which is dropped, in one transaction.

    Raises RefusedError, with everything as it was, when it must not be or readers leave no moment for it.
    """
    (made_of,) = database.execute(_MADE_OF, [schema]).fetchone() or (None,)
    if made_of is None or made_of != _revision(database):
        raise RefusedError(
            f"The version {schema} was made for revision {made_of} of the tables, and they are at "
            f"{_revision(database)}. Nothing was changed. Build it again."
        )
    try:
        with database.transaction():
            database.execute("SELECT set_config('lock_timeout', %s, true)", [f"{int(WAIT_SECONDS * 1000)}ms"])
            _run(database, _KEEP_DECISIONS, schema)
            for table in VERSION:
                _run(database, "DROP TABLE public.{}", table)
                for part in [table, *_column(database, _PARTS, f"{schema}.{table}")]:
                    _run(database, "ALTER TABLE {}.{} SET SCHEMA public", schema, part)
            _run(database, "DROP SCHEMA {}", schema)
    except LockNotAvailable as error:
        raise RefusedError(
            f"The versions were not switched: somebody holds a table of the live one for more than {WAIT_SECONDS:g} s. "
            "Nothing was changed. pg_stat_activity shows who; end that and build again."
        ) from error
    return Version(schema)


def clean(database: Database) -> Removed:
    """Drop every version that is not the live one."""
    left = _column(database, _LEFT, PREFIX.replace("_", r"\_") + "%")
    for schema in left:
        _run(database, "DROP SCHEMA {} CASCADE", schema)
    return Removed(left)


def _make(database: Database, schema: str, table: str) -> None:
    """Make one table as the live one is: columns, keys, partitions, rights, and what it says of itself."""
    live = f"public.{table}"
    (key,) = database.execute(_KEY, [live]).fetchone() or (None,)
    copy = sql.SQL("CREATE TABLE {}.{} (LIKE public.{} INCLUDING ALL) {}").format(
        sql.Identifier(schema),
        sql.Identifier(table),
        sql.Identifier(table),
        sql.SQL(f"PARTITION BY {key}") if key else sql.SQL(""),  # the database's own words
    )
    database.execute(copy)
    for part, bound in database.execute(_PARTS, [live]).fetchall():
        statement = sql.SQL("CREATE TABLE {}.{} PARTITION OF {}.{} {}")
        names = map(sql.Identifier, (schema, part, schema, table))
        database.execute(statement.format(*names, sql.SQL(bound)))
    (comment,) = database.execute(_COMMENT, [live]).fetchone() or (None,)
    says = sql.SQL("COMMENT ON TABLE {}.{} IS {}")
    database.execute(says.format(sql.Identifier(schema), sql.Identifier(table), sql.Literal(comment)))
    for privilege, column, role in database.execute(_RIGHTS, {"table": live}).fetchall():
        columns = sql.SQL("({})").format(sql.Identifier(column)) if column else sql.SQL("")
        statement = sql.SQL("GRANT {} {} ON {}.{} TO {}")
        names = map(sql.Identifier, (schema, table, role))
        database.execute(statement.format(sql.SQL(privilege), columns, *names))


def _revision(database: Database) -> str:
    (revision,) = _column(database, _REVISION)
    return str(revision)


def _column(database: Database, query: LiteralString, *parameters: object) -> list[str]:
    return [str(row[0]) for row in database.execute(query, parameters or None).fetchall()]


def _run(database: Database, statement: LiteralString, *names: str) -> None:
    database.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))
