"""The hammer on relays as processes: killed and put to sleep past their leases, while some events are too large.

What the hammer inside one process cannot have: a real broker, kills in the middle of a produce, and a person who
redrives and discards what is parked while all of it goes on.
"""

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import Engine

from shared.errors import RefusedError
from shared.outbox_parking import OutboxLot
from shared.parking import UnknownEntryError
from tests.conftest import TopicFactory, eventually
from tests.hammer.judge import Standing
from tests.integration.notifications.processes import Process
from tests.integration.relay.processes import Ground, read_log
from tests.integration.relay.test_kafka_transport import set_limit
from tests.integration.relay.writers import Ledger, Writer

pytestmark = [pytest.mark.full, pytest.mark.timeout(300)]

HAMMER_SECONDS = float(os.environ.get("HAMMER_SECONDS", "12"))
OVERSIZED = 0.03
TIGHT_BYTES, WIDE_BYTES = 5_000, 1_000_000
SHORT = {"RELAY_LEASE_SECONDS": "2", "RELAY_RENEW_SECONDS": "0.4", "RELAY_PRODUCE_DEADLINE_SECONDS": "1.2"}
LOT = OutboxLot()
DISCARDED = "SELECT event_id FROM outbox_parked JOIN outbox ON outbox.id = outbox_id WHERE state = 'discarded'"


@pytest.fixture
def ground(engine: Engine, outbox_url: str, kafka: str, topic: TopicFactory, tmp_path: Path) -> Ground:
    ground = Ground(outbox_url, kafka, topic(), tmp_path)
    set_limit(kafka, ground.topic, TIGHT_BYTES)
    ground.watch(engine)
    return ground


class Operator:
    """Decides about what is parked: mostly to try again, now and then to give up."""

    def __init__(self, engine: Engine, seed: int) -> None:
        self._engine = engine
        self._dice = random.Random(seed)
        self.did: Counter[str] = Counter()

    def run(self, stop: threading.Event) -> None:
        while not stop.wait(0.2):
            self.decide(give_up=0.3)

    def decide(self, give_up: float = 0.0) -> bool:
        """Decide about every entry once. Returns whether any is left that is not given up."""
        with self._engine.connect() as connection:
            entries = [each for each in LOT.entries(connection, limit=10_000) if each.state != "discarded"]
        for entry in entries:
            with suppress(RefusedError, UnknownEntryError), self._engine.begin() as connection:
                if self._dice.random() < give_up * (1 if entry.state == "parked" else 0.1):
                    LOT.discard(connection, entry.id, "given up by the test")
                    self.did["discarded"] += 1
                elif entry.state == "parked":
                    LOT.redrive(connection, entry.id)
                    self.did["redriven"] += 1
        return bool(entries)


@contextmanager
def at_work(engine: Engine, operator: Operator) -> Iterator[None]:
    stop = threading.Event()
    ledger = Ledger()
    work = [Writer(engine, ledger, seed, OVERSIZED).run for seed in range(6)] + [operator.run]
    threads = [threading.Thread(target=each, args=(stop,)) for each in work]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def strike(ground: Ground, dice: random.Random, relays: list[Process]) -> None:
    """Kill a relay and start it again, or let it sleep until another has its lanes."""
    relay = dice.choice(relays)
    name = relay.environment["INSTANCE"]
    eventually(lambda: name in ground.owners(), 60, f"{name} has lanes")
    time.sleep(dice.uniform(0.0, 0.5))  # anywhere in its work
    if dice.random() < 0.5:
        relay.end(signal.SIGKILL)
        relay.start()
        return
    assert relay.running is not None
    relay.running.send_signal(signal.SIGSTOP)
    try:
        eventually(lambda: name not in ground.owners(), 60, f"{name} is replaced")
    finally:
        relay.running.send_signal(signal.SIGCONT)


def hammer(ground: Ground, engine: Engine, seed: int) -> Operator:
    """Strike for a while, then heal, and have everything sent that was not given up."""
    dice, operator = random.Random(seed), Operator(engine, seed)
    with ground.running("a", "b", "c", **SHORT) as relays:
        eventually(lambda: ground.owners() == {"a", "b", "c"}, 60, "all three have lanes")
        with at_work(engine, operator):
            end = time.monotonic() + HAMMER_SECONDS
            while time.monotonic() < end:
                strike(ground, dice, relays)
        set_limit(ground.kafka, ground.topic, WIDE_BYTES)
        eventually(lambda: not ground.pending() and not operator.decide(), 90, "everything is sent or given up")
    return operator


def faults(ground: Ground) -> list[str]:
    """Say what is wrong by the log, the outbox and the positions; what was given up may be missing."""
    log = read_log(ground.kafka, ground.topic)
    judge = ground.judge(log)
    standing = judge.standing()
    with ground.connect() as connection:
        given_up = {UUID(str(event_id)) for (event_id,) in connection.execute(DISCARDED)}
    found = judge.look(Standing(standing.existing, standing.covered - given_up))
    if missing := standing.existing - log.event_ids() - given_up:
        found.append(f"{len(missing)} events of the outbox never came into the log, one of them {min(missing)}")
    return found


def test_killed_and_sleeping_relays_keep_order_and_lose_nothing_also_of_what_is_parked(
    ground: Ground, engine: Engine
) -> None:
    """Redriven events and what was held behind them come in their aggregate's order (HAMMER_SECONDS)."""
    operator = hammer(ground, engine, seed=1)
    assert faults(ground) == []
    assert min(operator.did["redriven"], operator.did["discarded"]) > 0
    assert len(ground.takeovers()) > 3


def test_a_relay_that_reads_by_id_is_found_by_it(ground: Ground, engine: Engine) -> None:
    """The same hammer on a relay without a guard: it would be worth little if it found nothing."""
    wrong = replace(ground, module="chaos.unsafe.relay_reads_by_id")
    hammer(wrong, engine, seed=2)
    assert faults(wrong) != []
