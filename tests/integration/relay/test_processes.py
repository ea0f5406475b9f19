"""Relays as real processes that are killed, stopped and fed with much: what the table and the log say of it.

Times are the database's, from the lease as it stood in the table, so that a busy machine changes little.
"""

import os
import random
import signal
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import psutil
import pytest
from sqlalchemy import Engine

from chaos.bench import backlog
from infra.local.ports import RUNS, free_block
from infra.local.supervisor import Supervisor
from services.relay.pace import Pace
from tests.conftest import TopicFactory, eventually
from tests.integration.notifications.processes import Process
from tests.integration.relay.processes import Ground
from tests.integration.relay.writers import Ledger, Writer

LEASE = timedelta(seconds=Pace().lease_seconds)
NOISE = timedelta(seconds=float(os.environ.get("TEST_NOISE_SECONDS", "2")))
"""What a process may be late on a machine that has other things to do."""
ROUNDS = int(os.environ.get("ROUNDS", "6"))
BACKLOG = int(os.environ.get("BACKLOG", "200000"))
MEGABYTE = 2**20


@pytest.fixture
def ground(engine: Engine, outbox_url: str, kafka: str, topic: TopicFactory, tmp_path: Path) -> Ground:
    ground = Ground(outbox_url, kafka, topic(), tmp_path)
    ground.watch(engine)
    return ground


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    supervisor = Supervisor(tmp_path, free_block(["supervisor"], RUNS)["supervisor"], "secret")
    yield supervisor
    supervisor.stop()


def test_a_relay_that_its_supervisor_restarts_takes_its_lanes_back_at_once(
    ground: Ground, supervisor: Supervisor
) -> None:
    """Under its own name, within two seconds of its connection, and long before its old lease ends."""
    supervisor.start([ground.task("relay-1", RELAY_LEASE_SECONDS="60")])
    eventually(lambda: ground.owners() == {"relay-1"}, 60, "the relay has its lanes")
    old = supervisor.pid("relay-1")
    assert old is not None
    psutil.Process(old).send_signal(signal.SIGKILL)
    (taken,) = eventually(ground.takeovers, 50, "the lanes are taken")
    assert (taken.taken_from, taken.taken_by) == ("relay-1", "relay-1")
    assert taken.at < taken.lease_until - timedelta(seconds=5)
    assert taken.at - taken.up_at <= timedelta(seconds=2) + NOISE
    assert supervisor.pid("relay-1") not in (None, old)


def test_the_lanes_of_a_relay_that_stays_dead_are_taken_when_its_lease_ends(ground: Ground) -> None:
    """Within its lease and a second more, counted from its last renewal."""
    with ground.running("dead", "heir") as (dead, _heir):
        eventually(lambda: ground.owners() == {"dead", "heir"}, 60, "both have lanes")
        dead.end(signal.SIGKILL)
        eventually(lambda: ground.owners() == {"heir"}, 60, "the other has all of them")
    for taken in (each for each in ground.takeovers() if each.taken_from == "dead"):
        assert taken.taken_by == "heir"
        assert taken.lease_until <= taken.at, "nobody takes what is leased"
        renewed_at = taken.lease_until - LEASE
        assert taken.at <= renewed_at + LEASE + timedelta(seconds=1) + NOISE


@pytest.mark.full
@pytest.mark.timeout(60 + 30 * ROUNDS)
def test_relays_that_sleep_past_their_leases_leave_the_log_whole_and_in_order(ground: Ground, engine: Engine) -> None:
    """Three relays under load; again and again one of them is stopped, replaced and continued (ROUNDS times)."""
    dice, ledger, stop = random.Random(ROUNDS), Ledger(), threading.Event()
    writers = [threading.Thread(target=Writer(engine, ledger, seed).run, args=(stop,)) for seed in range(6)]
    short = {"RELAY_LEASE_SECONDS": "2", "RELAY_RENEW_SECONDS": "0.4", "RELAY_PRODUCE_DEADLINE_SECONDS": "1.2"}
    with ground.running("a", "b", "c", **short) as relays:
        eventually(lambda: ground.owners() == {"a", "b", "c"}, 60, "all three have lanes")
        for writer in writers:
            writer.start()
        try:
            for _ in range(ROUNDS):
                _sleep_past_its_lease(ground, dice.choice(relays))
        finally:
            stop.set()
            for writer in writers:
                writer.join()
        eventually(lambda: not ground.pending(), 60, "everything is published")
    assert ground.faults() == []
    assert len(ground.takeovers()) >= ROUNDS


def _sleep_past_its_lease(ground: Ground, relay: Process) -> None:
    name = relay.environment["INSTANCE"]
    eventually(lambda: name in ground.owners(), 60, f"{name} has lanes")
    assert relay.running is not None
    relay.running.send_signal(signal.SIGSTOP)
    try:
        eventually(lambda: name not in ground.owners(), 60, f"{name} is replaced")
    finally:
        relay.running.send_signal(signal.SIGCONT)


@pytest.mark.full
@pytest.mark.timeout(900)
def test_memory_stays_flat_while_a_backlog_is_drained(ground: Ground) -> None:
    """At most 200 MB, and no more towards the end than in the middle. BACKLOG says how many events."""
    with ground.connect() as connection:
        backlog.fill(connection, BACKLOG)  # type: ignore[arg-type]
    samples: list[int] = []
    with ground.running("relay") as (relay,):
        assert relay.running is not None
        process = psutil.Process(relay.running.pid)

        def drained() -> bool:
            samples.append(process.memory_info().rss)
            with ground.connect() as connection:
                left = connection.execute(
                    "SELECT 1 FROM relay_position JOIN relay_lane USING (position_id) "
                    "WHERE relay_lane.destination = 'event' AND (target IS NOT NULL OR floor_id < %s)",
                    [BACKLOG],
                ).fetchone()
            return left is None

        eventually(drained, 800, "the backlog is drained")
    largest, middle = max(samples), max(samples[: max(1, 2 * len(samples) // 3)])
    print(f"{BACKLOG} events: at most {largest / MEGABYTE:.0f} MB in {len(samples)} samples")  # noqa: T201  # the figure that a run on demand is for
    assert largest <= 200 * MEGABYTE
    assert largest <= middle + 20 * MEGABYTE
