"""Databases at the newest schema of a service: migrated once in a run of tests, copied from then on.

Copying takes a tenth of what migrating does, and every file wants one. The tests of the migrations themselves have
the copy's own history: it says what has been migrated, so they go back and forth as on any other.
"""

from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import psycopg
from alembic import command
from alembic.config import Config
from psycopg import sql

from shared.database import create_engine

INI = Path(__file__).parents[1] / "infra" / "alembic.ini"


class Schemas:
    """The templates of one run of tests, made when they are first asked for."""

    def __init__(self, superuser_url: Callable[[str], str]) -> None:
        """``superuser_url``: a database's name → its address."""
        self._url = superuser_url
        self._made: dict[str, str] = {}

    def template(self, kind: str) -> str:
        """Return the name of a database with a service's tables, to which nobody is connected."""
        if kind not in self._made:
            name = f"test_{kind}_{uuid4().hex}"
            self._run(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
            self._made[kind] = name
            self._migrate(name, kind)
        return self._made[kind]

    def drop(self) -> None:
        for name in self._made.values():
            self._run(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def _migrate(self, name: str, kind: str) -> None:
        url = self._url(name).replace("postgresql", "postgresql+psycopg", 1)
        engine, config = create_engine(url, None, "migrator", pool_size=1), Config(INI, ini_section=kind)
        with engine.connect() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
            connection.commit()
        engine.dispose()

    def _run(self, statement: sql.Composed) -> None:
        with psycopg.connect(self._url("postgres"), autocommit=True) as connection:
            connection.execute(statement)
