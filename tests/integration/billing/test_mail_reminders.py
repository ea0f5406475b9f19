"""Invoices whose mail never left: found by billing's housekeeper and sent by the worker, against real servers."""

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from redis import Redis
from redis.exceptions import ConnectionError as RedisIsAway
from sqlalchemy import Engine, text

from services.billing import mails
from services.billing.housekeeping import build_reminder
from services.billing.mails import Patience
from services.billing.settings import Settings
from shared import events
from shared.database import create_engine, transaction
from shared.settings import read
from tests.conftest import DatabaseFactory, eventually
from tests.integration.billing.orders import bill, cancelled, deliver, placed, rows
from tests.integration.notifications.processes import Process, Sink, free_port

IMPATIENT = Patience(overdue_seconds=0, ceiling_seconds=0, reminders=3)


def settings(database_url: str, redis_url: str, **environ: str) -> Settings:
    given = {"DATABASE_URL": database_url, "REDIS_URL": redis_url, "MAIL_OVERDUE_SECONDS": "1", **environ}
    return read(Settings, given)


def take(engine: Engine, patience: Patience = IMPATIENT) -> list[mails.Reminder]:
    with transaction(engine) as connection:
        return mails.take_overdue(connection, patience, 100)


def test_a_reminder_is_the_command_again_byte_for_byte(engine: Engine) -> None:
    """The same event id and the same payload, though made from the invoice: so it is the same mail."""
    bill(engine, deliver(placed(), placed(currency="JPY"), placed(amount_minor=5_000_000)))
    commanded = rows(engine, "SELECT event_id, payload FROM outbox WHERE destination = 'command'")
    reminders = {(r.event_id, events.encode(r.command)) for r in take(engine)}
    assert reminders == {(row.event_id, bytes(row.payload)) for row in commanded}
    assert len(reminders) == 2


def test_a_settled_mail_is_not_commanded_again_and_stays_as_it_was_settled(engine: Engine) -> None:
    """Sent stays sent, whatever comes later; an unknown id changes nothing."""
    bill(engine, deliver(placed(), placed()))
    first, second = (str(reminder.event_id) for reminder in take(engine))
    with transaction(engine) as connection:
        assert mails.settle(connection, "sent", [first, "0" * 32]) == 1
        assert mails.settle(connection, "refused", [first, second]) == 1
    assert take(engine) == []
    found = rows(engine, "SELECT mail_event_id::text, mail_outcome FROM invoice")
    assert sorted(map(tuple, found)) == sorted([(first, "sent"), (second, "refused")])


def test_reminders_back_off_and_end(engine: Engine) -> None:
    """Each waits twice as long as the one before; after the last the mail counts as given up."""
    patience = Patience(overdue_seconds=60, ceiling_seconds=200, reminders=4)
    bill(engine, deliver(placed()))
    waits = []
    for _ in range(4):
        waits.append(next(s for s in range(0, 400, 10) if taken_after(engine, patience, s)))
    assert waits == [60, 120, 200, 200]
    assert not taken_after(engine, patience, 1_000_000)
    with transaction(engine) as connection:
        assert mails.waiting(connection, patience) == mails.Waiting(overdue=1, given_up=1)


def taken_after(engine: Engine, patience: Patience, seconds: int) -> bool:
    with transaction(engine) as connection:
        ago = "UPDATE invoice SET mail_commanded_at = clock_timestamp() - make_interval(secs => :seconds)"
        connection.execute(text(ago), {"seconds": seconds})
    return bool(take(engine, patience))


def test_two_housekeepers_at_once_remind_of_different_mails(engine: Engine) -> None:
    """Rows in another's hand are passed over."""
    bill(engine, deliver(*(placed() for _ in range(40))))
    once_each = Patience(overdue_seconds=0, ceiling_seconds=0, reminders=1)

    def run(_: int) -> list[mails.Reminder]:
        with transaction(engine) as connection:
            return mails.take_overdue(connection, once_each, 10)

    with ThreadPoolExecutor(4) as pool:
        taken = [reminder.event_id for found in pool.map(run, range(8)) for reminder in found]
    assert len(taken) == len(set(taken)) == 40


def test_a_credited_invoice_is_still_mailed_and_a_declined_order_never(engine: Engine) -> None:
    """The customer gets the invoice that the credit note speaks of; where there is no invoice there is no mail."""
    kept, declined = placed(), placed(amount_minor=5_000_000)
    bill(engine, deliver(kept, cancelled(kept), declined))
    assert [reminder.command.order_id for reminder in take(engine)] == [kept.order_id]


def test_with_the_queue_away_or_full_no_reminder_is_spent(engine: Engine, database_url: str, redis_url: str) -> None:
    """A queue that is down is not the mail's fault; one that is full may hold the very command."""
    bill(engine, deliver(placed()))
    with transaction(engine) as connection:
        connection.execute(text("UPDATE invoice SET mail_commanded_at = clock_timestamp() - interval '1 hour'"))
    away = build_reminder(settings(database_url, f"redis://127.0.0.1:{free_port()}/0"), engine)
    with pytest.raises(RedisIsAway):
        away.run()
    full = build_reminder(settings(database_url, redis_url), engine)
    with Redis.from_url(redis_url) as redis:
        redis.lpush("notifications", *["command"] * 200)
        assert "skipped" in full.run()
        assert rows(engine, "SELECT mail_reminders FROM invoice") == [(0,)]
        redis.delete("notifications")
        assert full.run() == {"commanded_again": 1}
        assert redis.llen("notifications") == 1


def test_invoices_from_before_get_their_mails_ids_from_the_outbox(engine: Engine, alembic_config: Config) -> None:
    """Where the command is gone, nobody can tell, and the invoice is left alone."""
    bill(engine, deliver(placed(), placed()))
    before = rows(engine, "SELECT number, lines, mail_event_id FROM invoice ORDER BY number")
    with engine.connect() as connection:
        alembic_config.attributes["connection"] = connection
        command.downgrade(alembic_config, "0001")
        forget = (
            "DELETE FROM outbox WHERE destination = 'command' AND aggregate_id = (SELECT order_id::text FROM invoice "
        )
        connection.execute(text(forget + "WHERE number = :number)"), {"number": before[0].number})
        connection.commit()
        command.upgrade(alembic_config, "head")
        connection.commit()
    lost, kept = rows(engine, "SELECT number, lines, mail_event_id FROM invoice ORDER BY number")
    assert kept == before[1]
    assert (lost.lines, lost.mail_event_id) == ([], None)
    assert [reminder.command.invoice_number for reminder in take(engine)] == [kept.number]


@pytest.fixture(scope="module")
def ledger(postgres_url: DatabaseFactory) -> Iterator[tuple[str, Engine]]:
    url = postgres_url(of="notifications")
    engine = create_engine(url, None, "test", pool_size=1)
    yield url, engine
    engine.dispose()


@pytest.fixture
def sink(tmp_path: Path) -> Iterator[Sink]:
    """Return a mail sink that loses every third answer."""
    port, journal = free_port(), tmp_path / "mail.jsonl"
    environment = {"SMTP_PORT": str(port), "MAIL_JOURNAL": str(journal), "LOSE_ANSWER_EVERY": "3"}
    sink = Sink(("services.notifications.mail_sink",), environment, tmp_path / "sink.log", port, journal)
    sink.start()
    yield sink
    sink.end()


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Any]:
    running: list[Process] = []

    def start(module: str, role: str, **environment: str) -> Process:
        process = Process((module, role), environment, tmp_path / f"{role}.log")
        process.start()
        running.append(process)
        return process

    yield start
    for process in running:
        assert process.end(signal.SIGTERM) == 0


def test_every_invoice_gets_its_mail_though_every_command_was_lost(
    engine: Engine, database_url: str, redis_url: str, ledger: tuple[str, Engine], sink: Sink, started: Any
) -> None:
    """No relay ran and the queue began empty; the mail server loses answers. All arrive, each under one Message-ID."""
    bill(engine, deliver(*(placed() for _ in range(7))))
    with transaction(engine) as connection:
        connection.execute(text("DELETE FROM outbox WHERE destination = 'command'"))
    started(
        "services.billing", "housekeeper",
        DATABASE_URL=database_url, REDIS_URL=redis_url, MAIL_OVERDUE_SECONDS="1", MAIL_CHECK_SECONDS="0.5",
    )  # fmt: skip
    started(
        "services.notifications", "worker",
        DATABASE_URL=ledger[0], REDIS_URL=redis_url, SMTP_PORT=str(sink.port),
        RETRY_CEILING_SECONDS="1", SENDING_LEASE_SECONDS="1", VISIBILITY_TIMEOUT_SECONDS="3",
    )  # fmt: skip
    settled = "SELECT count(*) FROM invoice WHERE mail_outcome = 'sent'"
    eventually(lambda: rows(engine, settled)[0][0] == 7, 60, describe=lambda: rows(engine, "SELECT * FROM invoice"))
    wanted = {f"<{row[0]}@effectively-once.invalid>" for row in rows(engine, "SELECT mail_event_id FROM invoice")}
    arrived = sink.mails()
    assert {mail["message_id"] for mail in arrived} == wanted
    doubled = [mail for mail in arrived if not mail["answered"]]
    assert doubled
    assert len(arrived) == 7 + len(doubled)
    assert len({(mail["message_id"], mail["sha256"]) for mail in arrived}) == 7
