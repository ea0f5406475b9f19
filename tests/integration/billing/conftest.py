"""A migrated billing database for each module, emptied for each test."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from alembic.config import Config
from sqlalchemy import Engine, inspect, text

from infra.local.stack import LocalStack
from infra.postgres.roles import all_roles, ensure_roles, grant
from shared.database import create_engine
from tests.conftest import DatabaseFactory

INI = Path(__file__).parents[3] / "infra" / "alembic.ini"
KEPT = {"alembic_version", "relay_position", "relay_lane", "relay_member"}


@pytest.fixture(scope="module")
def alembic_config() -> Config:
    return Config(INI, ini_section="billing")


@pytest.fixture(scope="module")
def database_url(postgres_url: DatabaseFactory) -> str:
    return postgres_url(of="billing")


@pytest.fixture(scope="module")
def migrated(database_url: str) -> Iterator[Engine]:
    engine = create_engine(database_url, None, "test", pool_size=5)
    yield engine
    engine.dispose()


@pytest.fixture
def engine(migrated: Engine) -> Engine:
    """Return a way into the module's database, whose tables are empty again."""
    with migrated.begin() as connection:
        tables = ", ".join(table for table in inspect(connection).get_table_names() if table not in KEPT)
        connection.execute(text(f"TRUNCATE {tables} RESTART IDENTITY"))
    return migrated


@pytest.fixture
def granted(stack: LocalStack, engine: Engine) -> None:
    """Give the roles of billing's processes their rights in the test's database."""
    with engine.begin() as connection:
        session = connection.connection.driver_connection
        assert isinstance(session, psycopg.Connection)
        ensure_roles(session, {role: stack.home.secret(role) for role in all_roles()})
        grant(session, "billing")
