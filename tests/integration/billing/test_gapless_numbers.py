"""Numbers without holes and doubles, whatever happens to the transactions that draw them."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import OperationalError

from services.billing import bill_orders, numbers
from shared.database import transaction
from shared.inbox import DatabaseInbox
from tests.conftest import eventually
from tests.integration.billing.orders import bill, cancelled, deliver, placed, rows


def assert_gapless(engine: Engine, table: str, expected: int) -> None:
    found = rows(engine, f"SELECT sequence FROM {table} ORDER BY sequence")
    assert [row.sequence for row in found] == list(range(1, expected + 1))


def test_two_members_at_once_draw_without_hole_or_double_even_when_some_roll_back(engine: Engine) -> None:
    """Every third batch fails after it has drawn its numbers; what commits is 1, 2, 3, ..."""

    def member(seed: int) -> int:
        chance = random.Random(seed)
        invoices = 0
        for turn in range(30):
            orders = [placed() for _ in range(chance.randint(1, 5))]
            batch = deliver(*orders, *(cancelled(order) for order in orders[:1]))
            try:
                with transaction(engine) as connection:
                    bill_orders.apply(connection, DatabaseInbox("billing").new(connection, batch))
                    if turn % 3 == 0:
                        raise RollBack
            except RollBack:
                continue
            invoices += len(orders)
        return invoices

    with ThreadPoolExecutor(2) as members:
        invoices = sum(members.map(member, (1, 2)))
    assert_gapless(engine, "invoice", invoices)
    assert_gapless(engine, "credit_note", 40)
    series = {(row.series, row.next_sequence) for row in rows(engine, "SELECT * FROM number_series")}
    assert series == {("INV", invoices + 1), ("CRN", 41)}


def test_a_crash_after_drawing_leaves_no_hole(engine: Engine) -> None:
    """The server ends a session that has drawn numbers; the next transaction draws the same ones."""
    bill(engine, deliver(placed()))
    with pytest.raises(OperationalError):
        bill_and_lose_the_session(engine)
    bill(engine, deliver(placed()))
    assert_gapless(engine, "invoice", 2)


def test_who_draws_second_waits_for_the_first_to_commit(engine: Engine) -> None:
    """A series is locked from the draw to the end of the transaction; a roll-back puts the number back."""
    drawn: list[str] = []
    second_has_begun = threading.Event()

    def second() -> None:
        with transaction(engine) as connection:
            connection.execute(text("SET LOCAL application_name = 'second'"))
            second_has_begun.set()
            drawn.extend(map(str, numbers.draw(connection, "INV", 1)))

    thread = threading.Thread(target=second)
    with engine.connect() as first:
        [number] = numbers.draw(first, "INV", 1)
        thread.start()
        assert second_has_begun.wait(5)
        eventually(
            lambda: rows(
                engine,
                "SELECT 1 FROM pg_stat_activity WHERE application_name = 'second' AND wait_event_type = 'Lock'",
            ),
            describe="the second to wait for the first",
        )
        assert drawn == []
        first.rollback()
    thread.join(5)
    assert drawn == [str(number)]


def test_each_series_and_year_counts_for_itself(engine: Engine) -> None:
    """Another series and last year's numbers do not move this year's."""
    with transaction(engine) as connection:
        year = numbers.draw(connection, "INV", 1)[0].year
        connection.execute(text("INSERT INTO number_series VALUES ('INV', :year, 500)"), {"year": year - 1})
        assert [n.sequence for n in numbers.draw(connection, "CRN", 3)] == [1, 2, 3]
        assert [str(n) for n in numbers.draw(connection, "INV", 2)] == [f"INV-{year}-000002", f"INV-{year}-000003"]


def test_the_year_is_that_of_the_database_in_utc(engine: Engine) -> None:
    """One clock: number and date of a document come from the same reading, whatever time zone the session has."""
    with transaction(engine) as connection:
        connection.execute(text("SET LOCAL TimeZone = 'Pacific/Kiritimati'"))
        [number] = numbers.draw(connection, "INV", 1)
        now, year = connection.execute(text("SELECT now(), extract(year FROM now() AT TIME ZONE 'UTC')")).one()
    assert (number.issued_at, number.year) == (now, year)


def bill_and_lose_the_session(engine: Engine) -> None:
    with transaction(engine) as connection:
        bill_orders.apply(connection, deliver(placed(), placed()))
        pid = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
        rows(engine, "SELECT pg_terminate_backend(:pid, 5000)", pid=pid)


class RollBack(Exception):
    pass
