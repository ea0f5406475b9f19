"""A migrated analytics database for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Engine

from shared.database import create_engine
from tests.conftest import DatabaseFactory

INI = Path(__file__).parents[3] / "infra" / "alembic.ini"


@pytest.fixture
def alembic_config() -> Config:
    return Config(INI, ini_section="analytics")


@pytest.fixture
def engine(postgres_url: DatabaseFactory, alembic_config: Config) -> Iterator[Engine]:
    engine = create_engine(postgres_url(), None, "test", pool_size=5)
    with engine.connect() as connection:
        alembic_config.attributes["connection"] = connection
        command.upgrade(alembic_config, "head")
        connection.commit()
    yield engine
    engine.dispose()
