from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, MetaData, text

from shared import database
from shared.inbox import inbox_table
from shared.inbox_parking import begun_table, inbox_parking_tables
from tests.conftest import DatabaseFactory
from tests.integration.shared.messages import EFFECT
from tests.schemas import Schemas


@pytest.fixture
def consuming(postgres_url: DatabaseFactory, schemas: Schemas) -> Iterator[Engine]:
    """Return a database with an inbox, its lot, and one table for effects."""
    engine = database.create_engine(postgres_url(like=schemas.built("consuming", create_inbox)), None, "test")
    yield engine
    engine.dispose()


def create_inbox(engine: Engine) -> None:
    metadata = MetaData()
    inbox_table(metadata)
    inbox_parking_tables(metadata)
    begun_table(metadata)
    metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(text(EFFECT))
