"""Relays and consumers look at the version that their tables say they have, and stop with words at another one.

Seen red without the check in the relay's session, without the one in the consumer, and with one that looks only at the
first connection: each works on, on tables of any version.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import pytest
from sqlalchemy import Connection, Engine, MetaData, text

from services.relay.pace import Pace
from services.relay.relay import Relay
from shared import database, inbox, outbox_tables
from shared.consumer import Consumer
from shared.errors import RefusedError
from shared.inbox import DatabaseInbox, Delivery, inbox_table
from shared.inbox_parking import begun_table, inbox_parking_tables
from shared.kafka import consumer_config
from shared.offset_commit import GroupMember
from shared.schema_version import Schema, expect
from tests.conftest import DatabaseFactory, TopicFactory
from tests.integration.relay.conftest import create_outbox
from tests.integration.relay.recording import Log, RecordingTransport

OTHERS = {
    "effectively-once {table} 0, for code from 0 on": r"version 0 .* needs \d: .* Migrate the database",
    "effectively-once {table} 9, for code from 8 on": r"for programs from version 8 on, and this one is of version \d",
    None: "does not say which version .* Migrate the database",
    "a comment of somebody's": "does not say which version",
}
"""What a table may say of itself → what is said of that."""


@pytest.fixture(scope="module")
def url(postgres_url: DatabaseFactory) -> str:
    return postgres_url()


@pytest.fixture(scope="module")
def engine(url: str) -> Iterator[Engine]:
    engine = database.create_engine(url, None, "test")
    metadata = MetaData()
    inbox_table(metadata)
    inbox_parking_tables(metadata)
    begun_table(metadata)
    metadata.create_all(engine)
    create_outbox(engine)
    yield engine
    engine.dispose()


def say(engine: Engine, schema: Schema, comment: str | None) -> None:
    words = "NULL" if comment is None else f"$${comment.format(table=schema.table)}$$"
    with engine.begin() as connection:
        connection.exec_driver_sql(f"COMMENT ON TABLE {schema.table} IS {words}")


@pytest.mark.parametrize(("comment", "words"), OTHERS.items())
def test_a_relay_stops_at_tables_of_another_version(engine: Engine, url: str, comment: str | None, words: str) -> None:
    """What it met, why that will not do, and what to run; and no lane was taken."""
    say(engine, outbox_tables.SCHEMA, comment)
    relay = Relay(
        connect=partial(database.connect, url, None, "relay-1"),
        transport=RecordingTransport(Log(), 0),
        destination="event",
        name="relay-1",
        pace=Pace(),
    )
    try:
        with pytest.raises(RefusedError, match=words):
            relay.step()
    finally:
        say(engine, outbox_tables.SCHEMA, outbox_tables.SCHEMA.comment)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM relay_position WHERE epoch > 0")).scalar_one() == 0


@pytest.mark.parametrize(("comment", "words"), OTHERS.items())
def test_a_consumer_stops_at_tables_of_another_version(
    engine: Engine, url: str, kafka: str, topic: TopicFactory, comment: str | None, words: str
) -> None:
    """At its first look at the database, before it has received anything."""
    say(engine, inbox.SCHEMA, comment)
    own = database.create_engine(url, None, "consumer-1")
    consumer = Consumer(
        kafka=GroupMember(consumer_config(kafka, "versions", "consumer-1")),
        engine=own,
        inbox=DatabaseInbox("versions"),
        handler=nothing,
        group="versions",
        topics=[topic(1)],
    )
    try:
        with pytest.raises(RefusedError, match=words):
            consumer.step()
    finally:
        say(engine, inbox.SCHEMA, inbox.SCHEMA.comment)
        own.dispose()


def nothing(_connection: Connection, _deliveries: Sequence[Delivery]) -> None:
    pass


def test_tables_that_are_newer_and_bear_older_programs_are_worked_on(engine: Engine) -> None:
    """So that tables can be migrated first and programs replaced after them, one by one."""
    say(engine, inbox.SCHEMA, "effectively-once {table} 9, for code from 1 on")
    try:
        with engine.connect() as connection:
            inbox.SCHEMA.check(connection.exec_driver_sql)
    finally:
        say(engine, inbox.SCHEMA, inbox.SCHEMA.comment)


def test_each_new_connection_is_checked(engine: Engine, url: str) -> None:
    """A database can be swapped, or migrated, under a process that has been running for weeks."""
    own = database.create_engine(url, None, "consumer-1", pool_size=1)
    expect(own, inbox.SCHEMA)
    with own.connect() as connection:
        connection.execute(text("SELECT 1"))
    say(engine, inbox.SCHEMA, "effectively-once {table} 9, for code from 8 on")
    own.dispose()
    try:
        with pytest.raises(RefusedError, match="Start the release"):
            own.connect()
    finally:
        say(engine, inbox.SCHEMA, inbox.SCHEMA.comment)
    with own.connect() as connection:
        assert not connection.connection.driver_connection.info.transaction_status  # type: ignore[union-attr]
    own.dispose()


def test_a_database_without_the_table_is_named_as_such(postgres_url: DatabaseFactory) -> None:
    """The wrong database, or one that was never migrated."""
    empty = database.create_engine(postgres_url(), None, "test")
    with empty.connect() as connection, pytest.raises(RefusedError, match="There is no table 'outbox'"):
        outbox_tables.SCHEMA.check(connection.exec_driver_sql)
    empty.dispose()
