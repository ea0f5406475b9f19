"""docs/how-to/change-lanes-or-partitions.md: another number of lanes, by the page's own file."""

import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Engine, make_url, text

from infra.local.postgres import Postgres
from infra.local.stack import LocalStack
from services.relay.pace import Pace
from tests.conftest import eventually
from tests.integration.relay.recording import Log, RecordingTransport
from tests.integration.relay.test_parking import Picky, decide, lot
from tests.integration.relay.test_relay import event, relay, write
from tests.readme.recipe import Copy

NAMES = [f"a{number}" for number in range(40)]
Change = Callable[[int], str]


@pytest.fixture
def change(tmp_path: Path, stack: LocalStack, outbox_url: str, monkeypatch: pytest.MonkeyPatch) -> Change:
    """Return what runs the page's file, and has relays know the new number; it returns what psql complained of."""
    Copy.made_in(tmp_path).follow("change-lanes-or-partitions.md")
    psql = Postgres(stack.home, stack.servers.postgres.port).program("psql")
    address = make_url(outbox_url).set(drivername="postgresql").render_as_string(hide_password=False)

    def run(lanes: int) -> str:
        options = [
            "--no-psqlrc",
            "--quiet",
            "--set=ON_ERROR_STOP=1",
            f"--set=lanes={lanes}",
            "--file=infra/postgres/change_lanes.sql",
            address,
        ]
        done = subprocess.run([str(psql), *options], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode == 0) == (not done.stderr), done.stderr
        if done.returncode == 0:
            monkeypatch.setattr("services.relay.lanes.LANES", lanes)
        return done.stderr

    return run


def lanes_in_use(engine: Engine) -> tuple[int, int]:
    """Return how many lanes of events the relays know, and the highest that an event is in."""
    with engine.connect() as connection:
        row = connection.execute(
            text("SELECT (SELECT count(*) FROM relay_lane WHERE destination = 'event'), (SELECT max(lane) FROM outbox)")
        ).one()
    return row[0], row[1]


def count(engine: Engine, what: str) -> int:
    """Count the events' positions, or their owners."""
    with engine.connect() as connection:
        query = f"SELECT count({what}) FROM relay_position WHERE destination = 'event'"  # words of ours
        return int(connection.execute(text(query)).scalar_one())


@contextmanager
def relays(outbox_url: str, log: Log) -> Iterator[None]:
    """Have two relays work, and stop in good order."""
    stop = threading.Event()
    pace = Pace(renew_seconds=0.2)
    two = [relay(outbox_url, RecordingTransport(log, 0), name, pace) for name in ("relay-1", "relay-2")]
    threads = [threading.Thread(target=each.run, args=(stop,)) for each in two]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(20)


@pytest.mark.parametrize("lanes", [32, 4])
def test_nothing_is_lost_doubled_or_reordered(engine: Engine, outbox_url: str, change: Change, lanes: int) -> None:
    """Events before and after, in lanes that were not there; and what waited in the lot is sent in its order.

    Seen red with the positions of the new lanes left out, and with the lot's lanes left as they were.
    """
    log = Log()
    picky = Picky(log, {("a7", 1)})
    write(engine, *[event(name, 1) for name in NAMES], event("a7", 2))
    relay(outbox_url, picky).drain_once()
    assert change(lanes) == ""
    assert lot(engine) == {("a7", 1): "parked", ("a7", 2): "held"}
    write(engine, *[event(name, 2) for name in NAMES if name != "a7"], event("a7", 3))
    picky.bad.clear()
    decide(engine, "a7", 1)
    for _ in range(4):
        relay(outbox_url, picky).drain_once()
    assert log.first_copies() == {name: [1, 2, 3] if name == "a7" else [1, 2] for name in NAMES}
    assert len(log.rows()) == 2 * len(NAMES) + 1
    known, highest = lanes_in_use(engine)
    assert known == lanes
    assert 16 <= highest < 32 if lanes == 32 else highest < 4


def test_a_wrong_moment_is_refused_with_words(engine: Engine, outbox_url: str, change: Change) -> None:
    """In the middle of a pass, under a lease, and with an event that is pending; and then nothing has changed."""
    for spoil, words in (
        ("UPDATE relay_position SET target = pg_current_snapshot()", "in the middle of a pass"),
        ("UPDATE relay_position SET target = NULL, lease_until = now() + interval '1 h'", "still has a lease"),
    ):
        with engine.begin() as connection:
            connection.execute(text(spoil))
        assert words in change(32)
    with engine.begin() as connection:
        connection.execute(text("UPDATE relay_position SET lease_until = NULL"))
    write(engine, event("a1", 1))
    assert "Events are pending" in change(32)
    assert lanes_in_use(engine)[0] == 16


def test_the_positions_of_two_relays_are_joined(engine: Engine, outbox_url: str, change: Change) -> None:
    """A system with two relays always leaves two. Seen red with the joining left out."""
    log = Log()
    with relays(outbox_url, log):
        eventually(lambda: count(engine, "DISTINCT owner") == 2, 20, "two relays at work")
        write(engine, *[event(name, 1) for name in NAMES])
        eventually(lambda: len(log.rows()) == len(NAMES), 20, "all are published")
    assert count(engine, "*") == 2
    assert change(32) == ""
    assert count(engine, "*") == 1
    write(engine, *[event(name, 2) for name in NAMES])
    with relays(outbox_url, log):
        eventually(lambda: len(log.rows()) == 2 * len(NAMES), 20, "the later ones, too")
    assert log.first_copies() == {name: [1, 2] for name in NAMES}
    assert len(log.rows()) == 2 * len(NAMES)
