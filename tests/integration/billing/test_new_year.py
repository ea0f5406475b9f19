"""Numbers at the turn of the year: each year counts from 1, in UTC, without a hole, whatever happens at midnight.

The statement that draws is the real one. It asks ``now()``, and here a function of that name stands before PostgreSQL's
own in the search path, so that transactions begin when the test says.
"""

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import OperationalError

from services.billing import bill_orders, numbers
from shared.database import transaction
from shared.inbox import DatabaseInbox, Delivery
from tests.integration.billing.orders import cancelled, deliver, placed, rows

NEW_YEAR = datetime(2027, 1, 1, tzinfo=UTC)
LAST_SECOND = NEW_YEAR - timedelta(seconds=1)
CLOCK = """
CREATE SCHEMA IF NOT EXISTS clock;
CREATE OR REPLACE FUNCTION clock.now() RETURNS timestamptz STABLE LANGUAGE sql
  AS $$SELECT current_setting('clock.now')::timestamptz$$
"""
NUMBERS = """
SELECT series, year, sequence, issued_at FROM invoice
UNION ALL SELECT series, year, sequence, issued_at FROM credit_note ORDER BY series, year, sequence
"""


@pytest.fixture(autouse=True)
def clock(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql(CLOCK)


@contextmanager
def at(engine: Engine, moment: datetime, time_zone: str = "UTC") -> Iterator[Connection]:
    """Begin a transaction at a moment, in a session of some time zone."""
    with transaction(engine) as connection:
        connection.execute(
            text(
                "SELECT set_config('clock.now', :moment, true), set_config('TimeZone', :zone, true),"
                " set_config('search_path', 'clock, public, pg_catalog', true)"
            ),
            {"moment": moment.isoformat(), "zone": time_zone},
        )
        yield connection


def apply(connection: Connection, batch: list[Delivery]) -> None:
    bill_orders.apply(connection, DatabaseInbox("billing").new(connection, batch))


def drawn(engine: Engine) -> dict[tuple[str, int], list[int]]:
    """Return the numbers that were given out, by series and year. Each document's date is of its number's year."""
    found: dict[tuple[str, int], list[int]] = {}
    for row in rows(engine, NUMBERS):
        assert row.issued_at.astimezone(UTC).year == row.year
        found.setdefault((row.series, row.year), []).append(row.sequence)
    return found


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "America/Los_Angeles"])
def test_the_year_turns_at_midnight_utc(engine: Engine, zone: str) -> None:
    """The last second of December still counts in the old year, midnight begins with 1, whatever the session's zone."""
    for moment in (LAST_SECOND, LAST_SECOND + timedelta(microseconds=999_999), NEW_YEAR, NEW_YEAR):
        with at(engine, moment, zone) as connection:
            apply(connection, deliver(placed()))
    assert [row.number for row in rows(engine, "SELECT number FROM invoice ORDER BY number")] == [
        "INV-2026-000001",
        "INV-2026-000002",
        "INV-2027-000001",
        "INV-2027-000002",
    ]


def test_a_credit_note_counts_in_the_year_in_which_it_is_issued(engine: Engine) -> None:
    """In a series of its own, whatever year its invoice is of."""
    order = placed()
    with at(engine, LAST_SECOND) as connection:
        apply(connection, deliver(order))
    with at(engine, NEW_YEAR) as connection:
        apply(connection, deliver(cancelled(order)))
    [note] = rows(engine, "SELECT number, invoice_number FROM credit_note")
    assert tuple(note) == ("CRN-2027-000001", "INV-2026-000001")


def test_the_old_years_last_transaction_does_not_hold_up_the_new_years_first(engine: Engine) -> None:
    """Begun a second before midnight and still open after it: it has the old year's number, and nobody waits."""
    with at(engine, LAST_SECOND) as late:
        [old] = numbers.draw(late, numbers.INVOICES, 1)
        with at(engine, NEW_YEAR) as early:
            early.execute(text("SET LOCAL lock_timeout = '2s'"))
            [new] = numbers.draw(early, numbers.INVOICES, 1)
    assert (str(old), str(new)) == ("INV-2026-000001", "INV-2027-000001")


def test_two_members_leave_no_hole_on_either_side_of_midnight(engine: Engine) -> None:
    """They meet in both years; some batches roll back after they have drawn, and some lose their session."""
    with at(engine, LAST_SECOND) as connection:
        apply(connection, deliver(placed()))

    def member(seed: int) -> tuple[int, int]:
        dice = random.Random(seed)
        invoices = notes = 0
        for turn in range(40):
            orders = [placed() for _ in range(dice.randint(1, 4))]
            batch = deliver(*orders, cancelled(orders[0]))
            moment = NEW_YEAR + timedelta(milliseconds=dice.randint(-1000, 999))
            try:
                with at(engine, moment) as connection:
                    apply(connection, batch)
                    match turn % 4:
                        case 0:
                            raise RollBack
                        case 1 if turn % 8 == 1:
                            lose_the_session(engine, connection)
            except (RollBack, OperationalError):
                continue
            invoices, notes = invoices + len(orders), notes + 1
        return invoices, notes

    with ThreadPoolExecutor(2) as members:
        given = list(members.map(member, (1, 2)))
    found = drawn(engine)
    assert found.keys() == {(series, year) for series in ("INV", "CRN") for year in (2026, 2027)}
    for (series, year), sequence in found.items():
        assert sequence == list(range(1, len(sequence) + 1)), (series, year)
    counted = [sum(len(found[series, year]) for year in (2026, 2027)) for series in ("INV", "CRN")]
    assert counted == [1 + sum(invoices for invoices, _ in given), sum(notes for _, notes in given)]
    counters = {(row.series, row.year): row.next_sequence - 1 for row in rows(engine, "SELECT * FROM number_series")}
    assert counters == {key: len(sequence) for key, sequence in found.items()}


def lose_the_session(engine: Engine, connection: Connection) -> None:
    """End the server's side of a session, as a crash would: after the draw and before the commit."""
    pid = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
    rows(engine, "SELECT pg_terminate_backend(:pid, 5000)", pid=pid)


class RollBack(Exception):
    pass
