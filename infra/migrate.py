"""Bring all four databases to the newest schema, then give each role its rights: ``python -m infra.migrate``.

Invariant: runs as each database's owner, one database after the other, and may be repeated. An advisory lock keeps two
of them from migrating one database at the same time. It may run while orders keep coming: a lock that it does not get
at once it asks for again later, so that nobody has to wait behind it (``infra/patience.py``).

As a one-shot it reads ``ORDERS_DATABASE_URL``, ``BILLING_DATABASE_URL``, ``ANALYTICS_DATABASE_URL`` and
``NOTIFICATIONS_DATABASE_URL`` (owner's address, no password) and ``SECRETS_DIRECTORY`` (a file per role).
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, text

from infra.patience import LOCK_TIMEOUT, until_locked
from infra.postgres.roles import GRANTS, grant, owner
from shared.database import create_engine
from shared.errors import ConfigurationError, OnceError
from shared.inbox_partitions import MAKE_DAYS

_INI = Path(__file__).with_name("alembic.ini")
_LOCK = 0x0CE_0CE


def migrate(kind: str, url: str, password_file: str) -> None:
    """Bring one database (``orders``, ...) to the newest schema and apply its grants."""
    engine = create_engine(url, password_file, f"migrate-{kind}", pool_size=1)
    try:
        _migrate(kind, engine)
    finally:
        engine.dispose()


def _migrate(kind: str, engine: Engine) -> None:
    with engine.connect() as connection:
        connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": _LOCK})
        connection.commit()
        if has_migrations(kind):
            _refuse_foreign(kind, connection)
            _upgrade(kind, connection)
            _make_days(connection)
        with connection.begin():
            grant(connection.connection.driver_connection, kind)  # type: ignore[arg-type]  # psycopg's, by the URL


_FOREIGN = """
SELECT tableowner FROM pg_tables
WHERE tablename = 'alembic_version' AND schemaname = current_schema AND NOT pg_has_role(tableowner, 'USAGE')
"""


def _refuse_foreign(kind: str, connection: Connection) -> None:
    """Raise ConfigurationError for tables that another role owns: a migration would fail in its middle."""
    other = connection.execute(text(_FOREIGN)).scalar()
    connection.commit()
    if other is not None:
        raise ConfigurationError(
            f"The tables of the database {kind} belong to {other}, and {owner(kind)} cannot migrate them. A dump that "
            "was restored with --no-owner leaves them so: restore it again without that option."
        )


def _upgrade(kind: str, connection: Connection) -> None:
    config = Config(_INI, ini_section=kind)
    config.attributes["connection"] = connection
    connection.execute(text(LOCK_TIMEOUT))
    connection.commit()
    until_locked(lambda: command.upgrade(config, "head"), connection.rollback)
    connection.execute(text("RESET lock_timeout"))
    connection.commit()


def _make_days(connection: Connection) -> None:
    """Have the inbox's next days ready at each start, also where the housekeeper has been down for long."""
    if connection.execute(text("SELECT to_regproc('inbox_make_days')")).scalar():
        connection.execute(text(MAKE_DAYS))
    connection.commit()


def has_migrations(kind: str) -> bool:
    """Tell whether a service has migrations yet."""
    return any((_INI.parents[1] / "services" / kind / "migrations" / "versions").glob("*.py"))


def main(environ: Mapping[str, str]) -> None:
    for kind in GRANTS:
        variable = f"{kind.upper()}_DATABASE_URL"
        if variable not in environ:
            raise ConfigurationError(f"{variable} is not set. Give the owner's address of the {kind} database.")
        migrate(kind, environ[variable], os.path.join(environ.get("SECRETS_DIRECTORY", ""), owner(kind)))
        print(f"{kind}: the schema is up to date", flush=True)  # noqa: T201  # the words of a one-shot


if __name__ == "__main__":
    try:
        main(os.environ)
    except OnceError as error:
        sys.exit(str(error))
