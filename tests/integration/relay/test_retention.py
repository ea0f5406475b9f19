"""What retention deletes, what it never does, and what it says."""

import threading
from contextlib import suppress

import pytest
from sqlalchemy import Engine, text

from shared import database
from shared import outbox_retention as retention
from shared.errors import RefusedError
from tests.conftest import eventually
from tests.integration.relay.recording import Log
from tests.integration.relay.test_rewind import QUICK, go_back, relay, write
from tests.integration.relay.writers import Ledger, Writer


def purge(url: str, age: float = 0.0, batch: int = 7) -> retention.Purged:
    with database.connect(url, None, "housekeeper") as connection:
        return retention.purge(connection, age, batch)


def left(engine: Engine) -> list[int]:
    with engine.connect() as connection:
        return list(connection.execute(text("SELECT id FROM outbox ORDER BY id")).scalars())


def test_published_rows_of_the_age_go_in_batches(engine: Engine, outbox_url: str) -> None:
    """Younger ones stay, and a run that deleted all it should gives no reason for more."""
    write(engine, 50)
    relay(outbox_url, Log()).drain_once()
    with engine.begin() as connection:
        connection.execute(text("UPDATE outbox SET occurred_at = occurred_at - interval '1 day' WHERE id <= 30"))
    assert purge(outbox_url, 3600) == retention.Purged(30)
    assert left(engine) == list(range(31, 51))
    assert purge(outbox_url, 3600) == retention.Purged(0)


def test_what_is_not_published_stays_and_the_run_says_whose_lane_it_is(engine: Engine, outbox_url: str) -> None:
    """The slowest lane is named with who owns it and the next step."""
    write(engine, 20)
    relay(outbox_url, Log()).drain_once()
    write(engine, 8, first=6)
    purged = purge(outbox_url)
    assert purged.deleted == 20
    assert left(engine) == list(range(21, 29))
    assert "8 rows of" in purged.kept_because[0]
    assert "no relay owns it" in purged.kept_because[0]


def test_parked_and_held_rows_stay_and_the_run_says_so(engine: Engine, outbox_url: str) -> None:
    write(engine, 20)
    relay(outbox_url, Log()).drain_once()
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO outbox_parked (outbox_id, state, attempts, last_error, destination, lane, aggregate_type,"
                " aggregate_id) SELECT id, CASE id WHEN 3 THEN 'parked' ELSE 'held' END, 1, 'why', destination, lane,"
                " aggregate_type, aggregate_id FROM outbox WHERE id IN (3, 7)"
            )
        )
    purged = purge(outbox_url)
    assert (purged.deleted, left(engine)) == (18, [3, 7])
    assert purged.kept_because == (
        "2 rows are parked, held behind a parked one, or given up and still on record. Redrive or discard what waits: "
        "`once parked ls`.",
    )


def test_a_row_that_was_given_up_goes_with_its_entry_once_the_decision_is_old(engine: Engine, outbox_url: str) -> None:
    """Not before, and never one that waits for a person, however old it is."""
    write(engine, 20)
    relay(outbox_url, Log()).drain_once()
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO outbox_parked (outbox_id, state, attempts, last_error, destination, lane, aggregate_type,"
                " aggregate_id, discarded_at) SELECT id, CASE id WHEN 3 THEN 'parked' ELSE 'discarded' END, 1, 'why',"
                " destination, lane, aggregate_type, aggregate_id,"
                " CASE id WHEN 3 THEN NULL WHEN 7 THEN now() - interval '2 h' ELSE now() END"
                " FROM outbox WHERE id IN (3, 7, 9)"
            )
        )
    assert purge(outbox_url).deleted == 17
    with database.connect(outbox_url, None, "housekeeper") as connection:
        purged = retention.purge(connection, 0.0, 7, given_up_seconds=3600)
    assert (purged.deleted, left(engine)) == (1, [3, 9])
    with engine.connect() as connection:
        entries = connection.execute(text("SELECT outbox_id FROM outbox_parked ORDER BY 1")).scalars().all()
    assert entries == [3, 9]


def test_while_a_rewind_is_on_its_way_nothing_is_deleted(engine: Engine, outbox_url: str) -> None:
    """The rows that it will send again are not done."""
    write(engine, 20)
    relay(outbox_url, Log()).drain_once()
    go_back(outbox_url, "11")
    purged = purge(outbox_url)
    assert purged.deleted == 0
    assert "in a pass from the start" in purged.kept_because[0]


def test_another_operator_at_work_is_left_alone(engine: Engine, outbox_url: str) -> None:
    write(engine, 20)
    relay(outbox_url, Log()).drain_once()
    with database.connect(outbox_url, None, "operator") as other, other.transaction():
        assert retention.try_alone(other)
        assert "is at work" in purge(outbox_url).kept_because[0]
    assert purge(outbox_url).deleted == 20


BY_FLOOR = "next.id <= stand.floor_id"


@pytest.mark.parametrize(
    ("rule", "loses"), [(retention.PUBLISHED, False), pytest.param(BY_FLOOR, True, id="by floor: events are lost")]
)
def test_an_event_that_commits_late_outlives_retention(
    engine: Engine, outbox_url: str, rule: str, loses: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its id lies below the floor of every lane while it is not published; only ``done`` knows that."""
    monkeypatch.setattr(retention, "PUBLISHED", rule)
    at_work, log = relay(outbox_url, Log()), Log()
    with engine.connect() as late:
        late.execute(text(ONE_EVENT))
        write(engine, 20)
        at_work.drain_once()
        at_work.drain_once()  # the floor moves with a renewal
        late.commit()
    purge(outbox_url)
    assert (1 not in left(engine)) is loses
    relay(outbox_url, log).drain_once()
    assert (1 not in [row.id for row in log.rows()]) is loses


ONE_EVENT = """
INSERT INTO outbox (event_id, aggregate_type, aggregate_id, aggregate_version, destination, type, source, dataschema,
                    payload)
VALUES (gen_random_uuid(), 'order', 'late', 1, 'event', 'OrderConfirmed', '/orders', 's', '{}')
"""


def test_retention_among_writers_relays_and_rewinds_deletes_only_what_arrived(engine: Engine, outbox_url: str) -> None:
    """A pass may be half-way, lanes may be going back: every event written is in the log at the end."""
    ledger, log = Ledger(), Log()
    stop_writers, stop_relays = threading.Event(), threading.Event()
    threads = [threading.Thread(target=Writer(engine, ledger, 70 + n).run, args=(stop_writers,)) for n in range(5)]
    threads += [
        threading.Thread(target=relay(outbox_url, log, f"relay-{n}", QUICK).run, args=(stop_relays,)) for n in range(2)
    ]
    for thread in threads:
        thread.start()
    deleted = 0
    try:
        for number in range(30):
            stop_writers.wait(0.1)
            deleted += purge(outbox_url, 0.3, batch=50).deleted
            if number % 10 == 9:
                with suppress(RefusedError):  # everything may be gone already
                    go_back(outbox_url, "earliest")
        stop_writers.set()
        for thread in threads[:5]:
            thread.join()
        eventually(lambda: len(log.event_ids()) >= len(ledger), 30, "every committed event is in the log")
    finally:
        stop_writers.set()
        stop_relays.set()
        for thread in threads:
            thread.join()
    assert deleted > 100
    assert log.event_ids() >= {event for events in ledger.committed.values() for _version, event in events}
    for aggregate_id, versions in log.first_copies().items():
        assert versions == sorted(versions), f"{aggregate_id} arrived as {versions}"
