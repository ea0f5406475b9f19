"""Databases with tables in them: of a service, or of a few tests. Made once in a run of tests, copied from then on.

Copying takes a tenth of what migrating does, and every file wants one. The tests of the migrations themselves have
the copy's own history: it says what has been migrated, so they go back and forth as on any other.
"""

import threading
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import psycopg
from alembic import command
from alembic.config import Config
from psycopg import sql
from sqlalchemy import Engine

from shared.database import create_engine

INI = Path(__file__).parents[1] / "infra" / "alembic.ini"


class Schemas:
    """The templates of one run of tests, made when they are first asked for."""

    def __init__(self, superuser_url: Callable[[str], str]) -> None:
        """``superuser_url``: a database's name → its address."""
        self._url = superuser_url
        self._made: dict[str, str] = {}
        self._one_at_a_time = threading.RLock()

    def template(self, kind: str) -> str:
        """Return the name of a database with a service's tables, to which nobody is connected."""
        return self.built(kind, lambda engine: _migrate(engine, kind))

    def built(self, kind: str, build: Callable[[Engine], None]) -> str:
        """Return the name of a database with what ``build`` makes in it, or has made under this name before."""
        with self._one_at_a_time:
            return self._made.get(kind) or self._build(kind, build)

    def _build(self, kind: str, build: Callable[[Engine], None]) -> str:
        name = self._made[kind] = f"test_{kind}_{uuid4().hex}"
        with psycopg.connect(self._url("postgres"), autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        url = self._url(name).replace("postgresql", "postgresql+psycopg", 1)
        engine = create_engine(url, None, "migrator", pool_size=1)
        build(engine)
        engine.dispose()
        return name

    def made(self) -> list[str]:
        return list(self._made.values())


def _migrate(engine: Engine, kind: str) -> None:
    config = Config(INI, ini_section=kind)
    with engine.connect() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        connection.commit()
