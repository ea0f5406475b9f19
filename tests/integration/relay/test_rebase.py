"""Taking over an outbox from another cluster, among writers, relays and other operators."""

import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from sqlalchemy import Engine, text

from infra.cdc import slot
from services.relay import operators, rebase
from shared import database
from shared.errors import RefusedError
from tests.conftest import eventually
from tests.integration.relay.recording import Log
from tests.integration.relay.test_retention import ONE_EVENT
from tests.integration.relay.test_rewind import QUICK, go_back, relay, write
from tests.integration.relay.writers import Ledger, Writer


def move_away(engine: Engine) -> None:
    """Leave the outbox as a dump into a younger cluster would: ids of transactions that are not reached here."""
    with engine.begin() as connection:
        connection.execute(text("UPDATE outbox SET xid = (xid::text::bigint + 1000000000)::text::xid8"))
        connection.execute(text("UPDATE relay_position SET system_identifier = '1'"))
        connection.exec_driver_sql(_MOVED_DONE)


_MOVED_DONE = """
UPDATE relay_position SET done = CAST(
  (pg_snapshot_xmin(done)::text::bigint + 1000000000) || ':' || (pg_snapshot_xmax(done)::text::bigint
  + 1000000000) || ':' || coalesce((SELECT string_agg((x::text::bigint + 1000000000)::text, ',' ORDER BY x)
  FROM pg_snapshot_xip(done) AS x), '') AS pg_snapshot)
WHERE done::text <> '1:1:'
"""


def rebased(url: str, *, xids_kept: bool = False) -> rebase.Rebased:
    with database.connect(url, None, "operator") as connection:
        return rebase.rebase(connection, xids_kept=xids_kept)


def test_what_was_pending_is_pending_and_what_was_published_is_not(engine: Engine, outbox_url: str) -> None:
    """The dry run says the same numbers, and `--xids-kept` is refused where it cannot be true."""
    write(engine, 20)
    relay(outbox_url, Log()).drain_once()
    write(engine, 8, first=6)
    move_away(engine)
    with pytest.raises(RefusedError, match="restore-a-database"):
        relay(outbox_url, Log()).drain_once()
    with pytest.raises(RefusedError, match="cannot be true here"):
        rebased(outbox_url, xids_kept=True)
    with database.connect(outbox_url, None, "operator") as connection:
        planned = rebase.plan(connection)
    done = rebased(outbox_url)
    assert (planned.pending, planned.done) == (done.pending, done.done) == (8, 20)
    assert planned.before is not None
    assert planned.before.identifier == "1"
    log = Log()
    relay(outbox_url, log).drain_once()
    assert [row.id for row in log.rows()] == list(range(21, 29))
    go_back(outbox_url, "1")
    relay(outbox_url, log).drain_once()
    assert len(log.rows()) == 8 + 28


def test_killed_between_any_two_statements_it_has_changed_nothing(
    engine: Engine, outbox_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is one transaction, and the next try does all of it."""
    write(engine, 20)
    relay(outbox_url, Log()).drain_once()
    move_away(engine)
    for name in ("_CLAIM", "_FREEZE", "_MOVE"):
        with monkeypatch.context() as patch:
            patch.setattr(rebase, name, "SELECT pg_terminate_backend(pg_backend_pid())")
            with pytest.raises(psycopg.OperationalError):
                rebased(outbox_url)
        with pytest.raises(RefusedError, match="positions were written in cluster 1"):
            relay(outbox_url, Log()).drain_once()
    assert rebased(outbox_url).done == 20


def test_an_open_writer_is_waited_for_in_bounds_and_named_as_the_reason(engine: Engine, outbox_url: str) -> None:
    """Otherwise every other writer would queue up behind the rebase for as long as that transaction is open."""
    with engine.connect() as late:
        late.execute(text(ONE_EVENT))
        with (
            database.connect(outbox_url, None, "operator") as connection,
            pytest.raises(RefusedError, match="a transaction that has written events is still open"),
            operators.alone(connection, 0.2),
        ):
            connection.execute("LOCK TABLE outbox IN SHARE ROW EXCLUSIVE MODE")
        late.commit()


def test_operators_come_one_after_the_other(engine: Engine, outbox_url: str) -> None:
    """Two rebases and rewinds at once: each finds what the one before has left, and nothing is lost."""
    write(engine, 20)
    relay(outbox_url, Log()).drain_once()
    write(engine, 8, first=6)
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(rebased, outbox_url), pool.submit(go_back, outbox_url, "11")]
        asked += [pool.submit(rebased, outbox_url), pool.submit(go_back, outbox_url, "5")]
        for each in asked:
            each.result()
    log = Log()
    relay(outbox_url, log).drain_once()
    assert {row.id for row in log.rows()} >= set(range(21, 29))


@pytest.mark.parametrize("xids_kept", [False, True])
def test_an_outbox_that_debezium_publishes_is_not_rebased(engine: Engine, outbox_url: str, xids_kept: bool) -> None:
    """The connector would go on by its slot, and its positions would be anybody's. Neither is it waited for."""
    write(engine, 4)
    slot.hand_over(outbox_url.replace("+psycopg", ""))
    with pytest.raises(RefusedError, match="engine switch polling"):
        rebased(outbox_url, xids_kept=xids_kept)
    with database.connect(outbox_url, None, "operator") as connection:
        with pytest.raises(RefusedError, match="engine switch polling"):
            rebase.plan(connection, xids_kept=xids_kept)
        assert connection.execute("SELECT count(*) FROM relay_position WHERE owner = 'cdc'").fetchone() == (1,)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.full), pytest.param(3, marks=pytest.mark.full)])
def test_rebases_among_writers_and_relays_lose_nothing_and_keep_the_order(
    engine: Engine, outbox_url: str, seed: int
) -> None:
    """Relays are fenced and go on from the new positions; first copies arrive in version order, and all arrive."""
    ledger, log = Ledger(), Log()
    stop_writers, stop_relays = threading.Event(), threading.Event()
    writers = [
        threading.Thread(target=Writer(engine, ledger, seed * 70 + n).run, args=(stop_writers,)) for n in range(5)
    ]
    relays = [
        threading.Thread(target=relay(outbox_url, log, f"relay-{n}", QUICK).run, args=(stop_relays,)) for n in range(2)
    ]
    for thread in writers + relays:
        thread.start()
    try:
        eventually(lambda: len(log.rows()) > 50, 20, "relays are at work")
        for number in range(12):
            rebased(outbox_url, xids_kept=number % 4 == 3)
            if number % 3 == 2:
                go_back(outbox_url, "earliest", lanes=[number])
            stop_writers.wait(0.2)
        stop_writers.set()
        for thread in writers:
            thread.join()
        eventually(lambda: len(log.event_ids()) >= len(ledger), 30, "every committed event is in the log")
    finally:
        stop_writers.set()
        stop_relays.set()
        for thread in writers + relays:
            thread.join()
    with engine.connect() as connection:
        assert log.event_ids() == set(connection.execute(text("SELECT event_id FROM outbox")).scalars())
    for aggregate_id, versions in log.first_copies().items():
        assert versions == sorted(versions), f"{aggregate_id} arrived as {versions}"
