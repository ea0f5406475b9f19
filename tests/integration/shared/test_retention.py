"""What a housekeeper deletes by the clock of inbox and parking lot, what it never does, and what it writes down."""

import threading
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import text

from infra.local.stack import LocalStack
from infra.postgres.roles import all_roles, ensure_roles, grant
from shared import database
from shared.database import create_engine
from shared.errors import ConfigurationError
from shared.retention import BATCH, Done, Rules, run
from tests.conftest import DatabaseFactory

RULES = Rules(dedup_window_days=14, outbox_kept_days=14, discarded_kept_days=90)


def id_of(days_ago: float) -> UUID:
    milliseconds = round((datetime.now(UTC) - timedelta(days=days_ago)).timestamp() * 1000)
    return UUID(int=milliseconds << 80 | uuid4().int & (1 << 80) - 1 & ~(0xF << 76) | 7 << 76)


class Service:
    """A migrated analytics database: an inbox in days, and its lot."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.engine = create_engine(url, None, "test", pool_size=3)

    def ask(self, query: str, **parameters: Any) -> list[Any]:
        with self.engine.begin() as connection:
            answer = connection.execute(text(query), parameters)
            return [tuple(row) for row in answer] if answer.returns_rows else []

    def record(self, *event_ids: UUID) -> None:
        self.ask(
            'INSERT INTO inbox (consumer, event_id, topic, partition, "offset", member, generation, aggregate_id, '
            "aggregate_version) SELECT 'analytics', id, 't', 0, 0, 'm', 1, 'a', 1 FROM unnest(CAST(:ids AS uuid[])) id",
            ids=list(event_ids),
        )

    def park(self, state: str, decided_days_ago: float | None = None) -> int:
        ((number,),) = self.ask(
            'INSERT INTO inbox_parked (consumer, topic, partition, "offset", headers, state, attempts, error, '
            "parked_at, discarded_at) VALUES ('analytics', 't', 0, (SELECT count(*) FROM inbox_parked), '[]', :state, "
            "1, 'why', now() - interval '900 days', now() - make_interval(days => :days)) RETURNING id",
            state=state,
            days=decided_days_ago,
        )
        return int(number)

    def left(self) -> set[UUID]:
        return {row[0] for row in self.ask("SELECT event_id FROM inbox")}

    def run(self, role: str | None = None) -> list[Done]:
        with database.connect(self.url, None, "housekeeper") as connection:
            if role is not None:
                connection.execute(f"SET ROLE {role}".encode())
            return run(connection, RULES, outbox=False)


@pytest.fixture
def service(postgres_url: DatabaseFactory) -> Service:
    return Service(postgres_url(of="analytics"))


def test_what_is_forgotten_is_what_is_refused(service: Service) -> None:
    """Beyond the window by a margin; an id without a time is kept, since no consumer would refuse its event."""
    kept = [id_of(0), id_of(13), id_of(14.5), id_of(-400), uuid4()]
    service.record(*kept, id_of(17), id_of(500))
    assert [done.deleted for done in service.run()] == [2, 0]
    assert service.left() == set(kept)


def test_rows_without_a_day_go_in_bounded_batches(service: Service) -> None:
    service.record(*(id_of(100) for _number in range(BATCH + 10)))
    assert service.ask("SELECT rows FROM inbox_drop_days(current_date - 15)") == [(BATCH,)]
    assert service.run()[0] == Done("inbox", 10)
    assert service.left() == set()


def test_only_what_was_given_up_long_ago_leaves_the_lot(service: Service) -> None:
    """What waits for a person waits, however old it is."""
    kept = [service.park("parked"), service.park("held"), service.park("redriving"), service.park("discarded", 89)]
    service.park("discarded", 91)
    assert service.run()[1] == Done("inbox lot", 1)
    assert [row[0] for row in service.ask("SELECT id FROM inbox_parked ORDER BY id")] == kept


def test_a_run_that_gets_no_moment_says_so_and_the_next_one_does_it(service: Service) -> None:
    """A consumer in the middle of a batch is not interrupted, and nothing is waited for longer than two seconds."""
    old = id_of(20)
    service.ask("SELECT inbox_make_days(current_date - 20, current_date - 20)")
    service.record(old)
    with service.engine.connect() as consumer:
        consumer.execute(text("SELECT 1 FROM inbox LIMIT 1"))
        (inbox, _lot) = service.run()
        assert (inbox.deleted, len(inbox.kept_because)) == (0, 1)
        assert "left no moment" in inbox.kept_because[0]
    assert service.ask("SELECT deleted, kept_because FROM retention_run WHERE what = 'inbox'") == [
        (0, inbox.kept_because[0])
    ]
    assert service.run()[0] == Done("inbox", 1)
    assert service.ask("SELECT deleted, kept_because FROM retention_run WHERE what = 'inbox'") == [(1, "")]


def test_two_runs_at_once_do_no_harm(service: Service) -> None:
    service.record(*(id_of(100) for _number in range(200)), id_of(1))
    runs = [threading.Thread(target=service.run) for _number in range(3)]
    for each in runs:
        each.start()
    for each in runs:
        each.join()
    service.run()
    assert len(service.left()) == 1


def test_the_housekeepers_role_may_do_all_this(service: Service, stack: LocalStack) -> None:
    with service.engine.begin() as connection:
        session = connection.connection.driver_connection
        assert session is not None
        ensure_roles(session, {role: stack.home.secret(role) for role in all_roles()})
        grant(session, "analytics")
    service.record(id_of(30))
    service.park("discarded", 91)
    assert [done.deleted for done in service.run("analytics_housekeeper")] == [1, 1]


def test_an_entry_may_not_go_before_its_event_is_refused() -> None:
    """Else an event that was given up would be applied when it comes again."""
    with pytest.raises(ConfigurationError, match="Set DISCARDED_KEPT_DAYS to 15 or more"):
        Rules.checked(14, 14, 14)
    assert Rules.checked(14, 0, 15).discarded_kept_days == 15
