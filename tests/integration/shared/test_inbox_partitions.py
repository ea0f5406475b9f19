"""The inbox in daily partitions: found where it was put, dropped by the day, converted without a loss."""

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, ProgrammingError

from shared.database import create_engine, transaction
from shared.inbox import DatabaseInbox
from shared.inbox_partitions import DAYS_AHEAD, MAKE_DAYS, make_days
from tests.conftest import DatabaseFactory, eventually
from tests.integration.billing.orders import deliver, placed

INI = Path(__file__).parents[3] / "infra" / "alembic.ini"
TODAY = datetime.now(UTC).date()
WITHOUT_DAYS, WITH_DAYS = "0001", "head"


def id_at(day: date, number: int = 0) -> UUID:
    """Return an id of version 7 whose time is noon of a day."""
    moment = int(datetime(day.year, day.month, day.day, 12, tzinfo=UTC).timestamp() * 1000)
    return UUID(int=moment << 80 | 7 << 76 | 2 << 62 | number)


class Database:
    """An analytics database (an inbox and little else) that can be migrated both ways."""

    def __init__(self, url: str) -> None:
        self.engine = create_engine(url, None, "test", pool_size=4)
        self._config = Config(INI, ini_section="analytics")

    def migrate(self, verb: Callable[[Config, str], None], revision: str) -> None:
        with self.engine.connect() as connection:
            self._config.attributes["connection"] = connection
            verb(self._config, revision)
            connection.commit()

    def ask(self, query: str, **parameters: Any) -> list[Any]:
        with self.engine.begin() as connection:
            answer = connection.execute(text(query), parameters)
            return [tuple(row) for row in answer] if answer.returns_rows else []

    def record(self, *event_ids: UUID) -> int:
        """Deliver events with these ids and return how many were new."""
        batch = deliver(*(placed() for _ in event_ids))
        for delivery, event_id in zip(batch, event_ids, strict=True):
            object.__setattr__(delivery.envelope, "event_id", event_id)
        with transaction(self.engine) as connection:
            return len(DatabaseInbox("analytics").new(connection, batch))

    def where(self, event_id: UUID) -> str:
        [(table,)] = self.ask("SELECT tableoid::regclass::text FROM inbox WHERE event_id = :id", id=event_id)
        return str(table)


@pytest.fixture
def database(postgres_url: DatabaseFactory) -> Iterator[Database]:
    database = Database(postgres_url())
    database.migrate(command.upgrade, WITH_DAYS)
    yield database
    database.engine.dispose()


def test_an_event_is_in_its_own_day_whenever_it_arrives_and_known_there(database: Database) -> None:
    """By the time in its id, not by its arrival; a second delivery on another day meets the same partition."""
    days = [TODAY + timedelta(days=n) for n in range(-1, 8)]
    assert database.record(*map(id_at, days)) == len(days)
    assert [database.where(id_at(day)) for day in days] == [f"inbox_{day:%Y%m%d}" for day in days]
    assert database.record(*map(id_at, days)) == 0


def test_ids_of_no_day_are_in_the_default_partition_and_known_there(database: Database) -> None:
    """Another UUID version, a clock that is years off, an event from before the first day."""
    strange = [uuid4(), id_at(TODAY + timedelta(days=3000)), id_at(TODAY - timedelta(days=3000))]
    assert database.record(*strange) == 3
    assert {database.where(event_id) for event_id in strange} == {"inbox_default"}
    assert database.record(*strange) == 0


def test_making_a_day_moves_what_came_before_it(database: Database) -> None:
    """A housekeeper that was away for weeks loses nothing and doubles nothing."""
    late = TODAY + timedelta(days=20)
    assert database.record(id_at(late), id_at(late, 1), id_at(late + timedelta(days=1))) == 3
    assert database.ask("SELECT inbox_make_days(:day, :day)", day=late) == [(1,)]
    assert database.where(id_at(late)) == f"inbox_{late:%Y%m%d}"
    assert database.where(id_at(late + timedelta(days=1))) == "inbox_default"
    assert database.record(id_at(late), id_at(late, 1)) == 0
    assert database.ask("SELECT inbox_make_days(:day, :day)", day=late) == [(0,)]


def test_days_are_dropped_whole_and_the_default_partition_by_time(database: Database) -> None:
    """What is younger stays, in every partition; today can never be dropped."""
    old, young = TODAY - timedelta(days=30), TODAY - timedelta(days=1)
    stranger, recent_stranger = uuid4(), uuid4()
    database.record(id_at(old), id_at(young), id_at(TODAY), id_at(old - timedelta(days=300)), stranger, recent_stranger)
    database.ask("SELECT inbox_make_days(:day, :day)", day=old)
    with database.engine.begin() as connection:
        arrived = "UPDATE inbox SET applied_at = now() - interval '40 days' WHERE event_id = :id"
        connection.execute(text(arrived), {"id": stranger})
    assert database.ask("SELECT * FROM inbox_drop_days(:day)", day=TODAY - timedelta(days=14)) == [(1, 1)]
    left = {row[0] for row in database.ask("SELECT event_id FROM inbox")}
    assert left == {id_at(young), id_at(TODAY), stranger, recent_stranger}
    with pytest.raises(DBAPIError, match="cannot be dropped"):
        database.ask("SELECT * FROM inbox_drop_days(:day)", day=TODAY)


def test_the_conversion_keeps_every_row_both_ways(database: Database) -> None:
    """Old days, this week, other versions: the same rows after as before, and still known."""
    ids = [*(id_at(TODAY + timedelta(days=n)) for n in range(-70, 5, 3)), *(uuid4() for _ in range(50))]
    database.migrate(command.downgrade, WITHOUT_DAYS)
    database.record(*ids)
    before = database.ask("SELECT * FROM inbox ORDER BY event_id")
    database.migrate(command.upgrade, WITH_DAYS)
    assert database.ask("SELECT * FROM inbox ORDER BY event_id") == before
    assert database.where(id_at(TODAY - timedelta(days=10))) == f"inbox_{TODAY - timedelta(days=10):%Y%m%d}"
    assert database.record(*ids) == 0
    database.migrate(command.downgrade, WITHOUT_DAYS)
    assert database.ask("SELECT * FROM inbox ORDER BY event_id") == before


def test_a_housekeeper_has_the_next_days_ready(database: Database) -> None:
    """It makes what is missing and is then content."""
    for ahead in (0, DAYS_AHEAD):
        database.ask(f"DROP TABLE inbox_{TODAY + timedelta(days=ahead):%Y%m%d}")
    assert make_days(database.engine) == {"days_made": 2}
    assert make_days(database.engine) == {}


def test_days_are_made_while_consumers_write(database: Database) -> None:
    """Neither an error nor a double, though rows of the day are in the default partition and more keep coming."""
    day, stop = TODAY + timedelta(days=30), threading.Event()
    recorded, failures = [0], list[BaseException]()

    def consume() -> None:
        try:
            while not stop.is_set():
                recorded[0] += database.record(id_at(day, recorded[0]), id_at(TODAY, recorded[0]))
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    consumer = threading.Thread(target=consume)
    consumer.start()
    eventually(lambda: recorded[0] > 50)
    database.ask("SELECT inbox_make_days(:day, :day)", day=day)
    reached = recorded[0]
    eventually(lambda: recorded[0] > reached + 50)
    stop.set()
    consumer.join(10)
    assert not failures
    assert database.ask("SELECT count(*), count(DISTINCT event_id) FROM inbox") == [(recorded[0], recorded[0])]
    assert database.ask("SELECT count(*) FROM inbox_default") == [(0,)]


def test_nobody_but_who_was_granted_it_makes_or_drops_days(database: Database) -> None:
    """The functions have the owner's rights, so the public has none on them."""
    with database.engine.connect() as connection:
        connection.execute(text("SET ROLE pg_monitor"))
        with pytest.raises(ProgrammingError, match="permission denied"):
            connection.execute(text(MAKE_DAYS))
