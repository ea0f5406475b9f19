"""The one statement that writes the outbox."""

import hashlib
from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, MetaData, text
from sqlalchemy.exc import IntegrityError

from shared import database
from shared.events import OrderConfirmed
from shared.outbox import Event, add, new_event
from shared.outbox_tables import outbox_table
from tests.conftest import DatabaseFactory


@pytest.fixture(scope="module")
def engine(postgres_url: DatabaseFactory) -> Iterator[Engine]:
    engine = database.create_engine(postgres_url(), None, "test")
    metadata = MetaData()
    outbox_table(metadata)
    metadata.create_all(engine)
    yield engine
    engine.dispose()


def event(aggregate_id: str, version: int) -> Event:
    payload = OrderConfirmed(order_id=aggregate_id, invoice_number="1")
    return new_event("order", aggregate_id, version, payload, source="/orders")


def test_ids_are_drawn_in_the_order_of_the_events(engine: Engine) -> None:
    """A relay reads by id, so this is the order in which an aggregate's events will leave."""
    with engine.begin() as connection:
        add(connection, *[event("many", version) for version in range(1, 1001)])
        rows = connection.execute(text("SELECT aggregate_version FROM outbox WHERE aggregate_id = 'many' ORDER BY id"))
        assert list(rows.scalars()) == list(range(1, 1001))


def test_a_row_carries_the_transaction_that_wrote_it(engine: Engine) -> None:
    """Drawn before the id: the relay's proof needs exactly that."""
    with engine.begin() as connection:
        add(connection, event("one", 1))
        row = connection.execute(
            text("SELECT xid::text = pg_current_xact_id()::text FROM outbox WHERE aggregate_id = 'one'")
        ).scalar_one()
    assert row is True


def test_a_version_that_is_taken_is_an_error_at_the_writer(engine: Engine) -> None:
    """Two writers that did not lock the aggregate's row find out here, not in the log."""
    with engine.begin() as connection:
        add(connection, event("twice", 1))
    with pytest.raises(IntegrityError, match="aggregate_version"), engine.begin() as connection:
        add(connection, event("twice", 1))


def test_a_lane_belongs_to_an_aggregate(engine: Engine) -> None:
    """The documented hash: the first byte of md5 over the aggregate's id, modulo 16."""
    with engine.begin() as connection:
        add(connection, event("lane", 1), event("lane", 2))
        lanes = connection.execute(text("SELECT DISTINCT lane FROM outbox WHERE aggregate_id = 'lane'")).scalars().all()
    assert lanes == [hashlib.md5(b"lane", usedforsecurity=False).digest()[0] % 16]


def test_nothing_to_write_is_nothing_written(engine: Engine) -> None:
    """A handler may have nothing to tell."""
    with engine.begin() as connection:
        before = connection.execute(text("SELECT count(*) FROM outbox")).scalar_one()
        add(connection)
        assert connection.execute(text("SELECT count(*) FROM outbox")).scalar_one() == before
