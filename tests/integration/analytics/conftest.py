"""A migrated analytics database for each module, emptied for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic.config import Config
from sqlalchemy import Engine, inspect, text

from shared.database import create_engine
from tests.conftest import DatabaseFactory

INI = Path(__file__).parents[3] / "infra" / "alembic.ini"
KEPT = {"alembic_version"}


@pytest.fixture(scope="module")
def alembic_config() -> Config:
    return Config(INI, ini_section="analytics")


@pytest.fixture(scope="module")
def database_url(postgres_url: DatabaseFactory) -> str:
    return postgres_url(of="analytics")


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
