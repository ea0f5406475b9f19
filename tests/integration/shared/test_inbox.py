"""The inbox on a real table: what is new is said once, whatever was delivered before and whoever asks beside it."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Engine, MetaData, event, text
from uuid_utils.compat import uuid7

from shared import database
from shared.clock import utc_now
from shared.envelope import Envelope
from shared.inbox import DatabaseInbox, Delivery, inbox_table
from tests.conftest import DatabaseFactory, eventually


@pytest.fixture
def engine(postgres_url: DatabaseFactory) -> Iterator[Engine]:
    engine = database.create_engine(postgres_url(), None, "test")
    metadata = MetaData()
    inbox_table(metadata)
    metadata.create_all(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def statements(engine: Engine) -> list[str]:
    """Every statement's first word, as it is sent."""
    sent: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *given: sent.append(given[2].split()[0]))
    return sent


def deliveries(count: int) -> list[Delivery]:
    return [
        Delivery(
            Envelope(uuid7(), "T", "/s", "order", f"order-{n}", 1, "urn:t", b"{}", utc_now()), "topic", 0, n, "m", 1
        )
        for n in range(count)
    ]


def new(engine: Engine, inbox: DatabaseInbox, batch: Sequence[Delivery]) -> list[Delivery]:
    with database.transaction(engine) as connection:
        return inbox.new(connection, batch)


def test_in_a_replay_what_is_known_is_looked_up_and_not_inserted(engine: Engine, statements: list[str]) -> None:
    """A batch of nothing but duplicates costs one look; the first of a replay, and what is not found, the insert."""
    inbox, batch = DatabaseInbox("test"), deliveries(20)
    assert new(engine, inbox, batch) == batch
    assert new(engine, inbox, batch) == []
    assert new(engine, inbox, batch) == []
    assert statements == ["INSERT", "INSERT", "SELECT"]


def test_news_in_the_middle_of_a_replay_are_let_through_once(engine: Engine, statements: list[str]) -> None:
    """In the order of the batch, the first of two copies; and the next batch of news costs no look."""
    inbox, old, news = DatabaseInbox("test"), deliveries(20), deliveries(3)
    new(engine, inbox, old)
    new(engine, inbox, old)
    assert new(engine, inbox, [news[0], *old, news[1], news[0], news[2]]) == news
    assert new(engine, inbox, [*news, *(more := deliveries(30))]) == more
    statements.clear()
    assert new(engine, inbox, more := deliveries(5)) == more
    assert statements == ["INSERT"]


def test_a_look_decides_nothing(engine: Engine) -> None:
    """What another has in hand is not found by a look; the insert waits for the other's end, and then says no."""
    inbox, old, one = DatabaseInbox("test"), deliveries(5), deliveries(1)
    new(engine, inbox, old)
    new(engine, inbox, old)
    with ThreadPoolExecutor() as threads, engine.connect() as other:
        assert DatabaseInbox("test").new(other, one) == one
        asked = threads.submit(new, engine, inbox, [*old, *one])
        eventually(lambda: _waiting(engine), describe="the second to wait for the first")
        other.commit()
        assert asked.result(10) == []


def _waiting(engine: Engine) -> bool:
    question = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with engine.connect() as connection:
        return bool(connection.execute(text(question)).all())
