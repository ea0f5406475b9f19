"""An outbox in a database of its own."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, MetaData, text

from shared import database
from shared.outbox_tables import FIRST_POSITIONS, outbox_table, relay_tables
from tests.conftest import DatabaseFactory
from tests.integration.relay.writers import CREATE_AGGREGATES
from tests.schemas import Schemas


@pytest.fixture
def outbox_url(postgres_url: DatabaseFactory, schemas: Schemas) -> str:
    return postgres_url(like=schemas.built("outbox", create_outbox))


@pytest.fixture
def engine(outbox_url: str) -> Iterator[Engine]:
    engine = database.create_engine(outbox_url, None, "test", pool_size=30)
    yield engine
    engine.dispose()


def create_outbox(engine: Engine) -> None:
    metadata = MetaData()
    outbox_table(metadata)
    relay_tables(metadata)
    metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(text(FIRST_POSITIONS))
        connection.execute(text(CREATE_AGGREGATES))
