"""Databases that a run's own are copied from: an empty database at the newest schema, made once for each schema.

Invariant: a template's name is a digest of everything that its schema is made of (migrations, tables, grants), so an
old template is never copied for new code. Copying takes a tenth of what migrating does. What belongs to the database
itself (its owner, who may connect) is not copied and is set each time.
"""

import hashlib
from collections.abc import Mapping
from functools import cache

from psycopg import Connection, errors, sql

from infra.local.home import PROJECT
from infra.postgres.roles import owner

_MADE_OF = ("services/*/migrations/**/*.py", "services/*/tables.py", "shared/*.py", "infra/postgres/*.py")


@cache
def name(kind: str) -> str:
    """Return the name that the template of this schema has or would have."""
    digest = hashlib.sha256()
    for path in sorted(path for pattern in _MADE_OF for path in PROJECT.glob(pattern)):
        digest.update(path.read_bytes())
    return f"template_{kind}_{digest.hexdigest()[:12]}"


def missing(connection: Connection[tuple[object, ...]], wanted: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return kind → (database, kind) of the databases that are not there yet."""
    there = {str(row[0]) for row in connection.execute("SELECT datname FROM pg_database")}
    return {kind: (database, kind) for kind, database in wanted.items() if database not in there}


def copy(connection: Connection[tuple[object, ...]], database: str, kind: str) -> bool:
    """Make a database from its template; says whether there was one. Needs a superuser in autocommit mode."""
    statement = sql.SQL("CREATE DATABASE {} TEMPLATE {} OWNER {}")
    names = (database, name(kind), owner(kind))
    try:
        connection.execute(statement.format(*map(sql.Identifier, names)))
    except errors.InvalidCatalogName:
        return False
    return True


def keep(connection: Connection[tuple[object, ...]], database: str, kind: str) -> None:
    """Make a template of a database that was just migrated and that nobody uses yet; drop those of older schemas."""
    for old in connection.execute("SELECT datname FROM pg_database WHERE datname LIKE %s", [f"template\\_{kind}\\_%"]):
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(str(old[0]))))
    statement = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
    connection.execute(statement.format(sql.Identifier(name(kind)), sql.Identifier(database)))
