"""Writers and relays against each other, with relays that die between any two steps."""

import random
import threading
from collections.abc import Callable
from functools import partial

import pytest
from sqlalchemy import Engine, text

from services.relay.pace import Pace
from services.relay.relay import Relay
from shared import database, failpoints
from shared.failpoints import Failpoint
from tests.conftest import eventually
from tests.integration.relay.recording import Log, RecordingTransport
from tests.integration.relay.writers import Ledger, Writer

PACE = Pace(
    chunk_size=20,
    lease_seconds=1.0,
    renew_seconds=0.2,
    produce_deadline_seconds=0.5,
    poll_seconds=0.001,
    idle_poll_seconds=0.01,
    settle_seconds=0.05,
)


class RelayDied(BaseException):
    """What a killed relay looks like from inside: nothing after the point happens, nothing is given back."""


class Mortal:
    """Kills the thread that reaches a point, now and then, if it is a relay's."""

    def __init__(self, seed: int, rate: float) -> None:
        self._random = random.Random(seed)
        self._rate = rate
        self.deaths = 0

    def __call__(self, point: Failpoint) -> None:
        if self._random.random() < self._rate:
            self.deaths += 1
            raise RelayDied(point)


def run_mortal(make: Callable[[str], Relay], names: list[str], stop: threading.Event, seed: int) -> None:
    """Run one relay after the other: each death is followed by another relay, under the same name or a new one."""
    rng = random.Random(seed)
    while not stop.is_set():
        try:
            make(rng.choice(names)).run(stop)
        except RelayDied:
            continue


@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_is_lost_and_first_copies_keep_the_order_of_versions(
    engine: Engine, outbox_url: str, seed: int
) -> None:
    """Whatever writers commit arrives, and each aggregate's first copies arrive in version order."""
    ledger, log, mortal = Ledger(), Log(), Mortal(seed, rate=0.03)
    stop_writers, stop_relays = threading.Event(), threading.Event()
    chunk_rng = random.Random(seed)

    def make(name: str) -> Relay:
        return Relay(
            connect=partial(database.connect, outbox_url, None, name),
            transport=RecordingTransport(log, chunk_rng.randrange(10**6), failure_rate=0.05),
            destination="event",
            name=name,
            pace=PACE,
        )

    writers = [
        threading.Thread(target=Writer(engine, ledger, seed * 100 + n).run, args=(stop_writers,)) for n in range(8)
    ]
    relays = [
        threading.Thread(target=run_mortal, args=(make, [f"relay-{n}", f"relay-{n}-again"], stop_relays, seed + n))
        for n in range(3)
    ]
    failpoints.arm(mortal)
    try:
        for thread in writers + relays:
            thread.start()
        eventually(lambda: mortal.deaths > 10 and len(ledger) > 800, 60, "enough is written, and enough relays die")
        stop_writers.set()
        for thread in writers:
            thread.join()
        failpoints.disarm()
        eventually(lambda: len(log.event_ids()) >= len(ledger), 20, "every committed event is in the log")
    finally:
        failpoints.disarm()
        stop_writers.set()
        stop_relays.set()
        for thread in writers + relays:
            thread.join()
    with engine.connect() as connection:
        written = set(connection.execute(text("SELECT event_id FROM outbox")).scalars())
    assert len(written) == len(ledger)
    assert log.event_ids() == written
    for aggregate_id, versions in log.first_copies().items():
        assert versions == sorted(versions), f"{aggregate_id} arrived as {versions}"
