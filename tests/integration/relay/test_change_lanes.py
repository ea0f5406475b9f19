"""docs/how-to/change-lanes-or-partitions.md: another number of lanes, by the page's own file."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine, make_url, text

from infra.local.postgres import Postgres
from infra.local.stack import LocalStack
from tests.integration.relay.recording import Log
from tests.integration.relay.test_parking import Picky, decide, lot
from tests.integration.relay.test_relay import event, relay, write
from tests.readme.recipe import Copy

NAMES = [f"a{number}" for number in range(40)]
Change = Callable[[int], str]


@pytest.fixture
def change(tmp_path: Path, stack: LocalStack, outbox_url: str, monkeypatch: pytest.MonkeyPatch) -> Change:
    """Return what runs the page's file, and has relays know the new number; it returns what psql complained of."""
    Copy(tmp_path).follow("change-lanes-or-partitions.md")
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
    """In the middle of a pass, with lanes at several places, and under a lease; and then nothing has changed."""
    for spoil, words in (
        ("UPDATE relay_position SET target = pg_current_snapshot()", "in the middle of a pass"),
        ("UPDATE relay_position SET target = NULL, lease_until = now() + interval '1 h'", "still has a lease"),
        (
            "WITH other AS (INSERT INTO relay_position (destination) VALUES ('event') RETURNING position_id) UPDATE "
            "relay_lane SET position_id = (SELECT position_id FROM other) WHERE lane = 3 AND destination = 'event'",
            "stand at different places",
        ),
    ):
        with engine.begin() as connection:
            connection.execute(text(spoil))
        assert words in change(32)
    assert lanes_in_use(engine)[0] == 16
