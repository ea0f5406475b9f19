"""A relay is woken after a commit; a signal that is lost costs a poll, and the writer nothing."""

import threading
import time
from collections.abc import Iterator
from functools import partial

import psutil
import pytest
from sqlalchemy import Engine

from services.relay.pace import Pace
from shared import database
from shared.wakeup import CHANNEL, Wakeup, listen, wait_for_signal
from tests.conftest import eventually
from tests.integration.relay.recording import Log, RecordingTransport
from tests.integration.relay.test_relay import event, relay, write

SLOW = Pace(idle_poll_seconds=3.0)


@pytest.fixture
def wakeup(outbox_url: str) -> Wakeup:
    return Wakeup(partial(database.connect, outbox_url, None, "writer"))


@pytest.fixture
def idle_log(engine: Engine, outbox_url: str) -> Iterator[Log]:
    """The log of a relay that has been idle long enough to look only every few seconds."""
    log, stop = Log(), threading.Event()
    relaying = relay(outbox_url, RecordingTransport(log, 0), pace=SLOW)
    relaying._delay = SLOW.idle_poll_seconds
    thread = threading.Thread(target=relaying.run, args=(stop,))
    write(engine, event("first", 1))
    thread.start()
    eventually(log.rows, 10, "the relay works")
    eventually(lambda: relaying._delay > 2, 20, "the relay is idle")
    yield log
    begun = time.monotonic()
    stop.set()
    thread.join()
    assert time.monotonic() - begun < 1.5, "a waiting relay stops at once"


def test_a_signal_after_the_commit_wakes_an_idle_relay(idle_log: Log, engine: Engine, wakeup: Wakeup) -> None:
    """Long before its next poll."""
    wakeup.after_transactions_of(engine)
    begun = time.monotonic()
    write(engine, event("woken", 1))
    eventually(lambda: len(idle_log.rows()) == 2, 10, "the event leaves")
    assert time.monotonic() - begun < 1.0


def test_a_lost_signal_costs_at_most_the_poll_interval(idle_log: Log, engine: Engine) -> None:
    """Nobody says anything, and the event leaves all the same."""
    write(engine, event("silent", 1))
    eventually(lambda: len(idle_log.rows()) == 2, SLOW.idle_poll_seconds + 2, "the event leaves")


def test_signals_are_coalesced(outbox_url: str, wakeup: Wakeup) -> None:
    """Thousands of commits are a few signals."""
    with database.connect(outbox_url, None, "listener") as connection:
        listen(connection)
        for _ in range(5_000):
            wakeup.wake()
        received = len(list(connection.notifies(timeout=1)))
    assert 0 < received < 500


def test_signals_of_a_busy_time_wake_once(outbox_url: str) -> None:
    """Red when one is taken of those that came while the relay was at work: the rest would pile up for ever."""
    with (
        database.connect(outbox_url, None, "listener") as connection,
        database.connect(outbox_url, None, "writer") as writer,
    ):
        listen(connection)
        for _ in range(50):
            writer.execute(f"NOTIFY {CHANNEL}")
            connection.execute("SELECT 1")
        assert wait_for_signal(connection, 5)
        assert not wait_for_signal(connection, 0)


def test_under_load_a_relay_rests_so_that_one_look_finds_several(engine: Engine, outbox_url: str) -> None:
    """After a single row it looks again as soon as it may; red without the rest in the pause."""
    pace = Pace()
    relaying = relay(outbox_url, RecordingTransport(Log(), 0), pace=pace)
    pauses = []
    for rows in (1, 100):
        write(engine, *(event(f"{rows}/{number}", 1) for number in range(rows)))
        pauses.append(next(pause for pause in iter(relaying.step, None) if relaying._rest))
    assert pauses == [pace.poll_seconds, pace.longest_rest_seconds]


def test_a_writer_does_not_notice_that_the_database_is_away() -> None:
    """No waiting, no error; only the signal is lost."""

    def away() -> None:
        raise OSError("refused")

    wakeup = Wakeup(away)  # type: ignore[arg-type]
    begun = time.monotonic()
    for _ in range(1_000):
        wakeup.wake()
    assert time.monotonic() - begun < 0.5


@pytest.mark.full
def test_an_idle_relay_costs_next_to_nothing(idle_log: Log) -> None:
    """At most a hundredth of a core; this process does nothing else meanwhile."""
    process = psutil.Process()
    before, begun = sum(process.cpu_times()[:2]), time.monotonic()
    time.sleep(30)
    share = (sum(process.cpu_times()[:2]) - before) / (time.monotonic() - begun)
    assert share <= 0.01, f"{share:.2%} of a core"
