"""Poison at a shop's pace: how long a healthy event waits for its effect while others can never be applied.

A wait goes from the broker's own stamp to the moment at which another connection sees the invoice's event in billing's
outbox, so to after the commit. Both are by this machine's clock. Not promised: waits below the watcher's own pace.
"""

import os
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from statistics import quantiles
from typing import Final

from psycopg import Connection

from chaos.bench import stopwatch
from chaos.bench.consumers import empty_billing
from chaos.bench.place import Place
from chaos.bench.rounds import Rates, Rival
from chaos.bench.till import Till

ALONE: Final = "1 member, no poison"
PATIENCE_SECONDS: Final = 60.0
LOOK_SECONDS: Final = 0.005

# In the order of their commits: a member draws these ids while it has the lock of the invoices' numbers.
_INVOICED: Final = """
SELECT id, aggregate_id FROM outbox WHERE id > %s AND aggregate_type = 'bill' AND destination = 'event' ORDER BY id
"""
_MEMBERS: Final = "SELECT count(DISTINCT member) FROM inbox WHERE applied_at > clock_timestamp() - interval '2 seconds'"
_PARKED: Final = "SELECT count(*) FROM inbox_parked"


@dataclass(frozen=True, slots=True)
class Waits:
    """In milliseconds, of the healthy events of one round."""

    p50: float
    p99: float
    longest: float


@dataclass(slots=True)
class Shop:
    """The rivals: one member and two, without and with poison. A round's rate is its median; the rest is kept beside.

    Raises RuntimeError when an event is neither billed nor parked in the end.
    """

    place: Place
    per_second: float
    seconds: float
    share_poisoned: float
    p99: Rates = field(default_factory=dict)
    longest: Rates = field(default_factory=dict)
    loads: list[float] = field(default_factory=list)
    """The machine's, averaged over a minute, after each round: a wait is only worth what else went on."""

    def rivals(self) -> list[Rival]:
        poison = f"{self.share_poisoned:.0%} poison"
        return [
            self._rival(ALONE, 1, 0.0),
            self._rival(f"1 member, {poison}", 1, self.share_poisoned),
            self._rival("2 members, no poison", 2, 0.0),
            self._rival(f"2 members, {poison}", 2, self.share_poisoned),
        ]

    def _rival(self, shown: str, members: int, share_poisoned: float) -> Rival:
        def measure() -> float:
            found = self._bill(members, share_poisoned)
            self.p99.setdefault(shown, []).append(found.p99)
            self.longest.setdefault(shown, []).append(found.longest)
            self.loads.append(os.getloadavg()[0])
            return found.p50

        return Rival(shown, measure)

    def _bill(self, members: int, share_poisoned: float) -> Waits:
        empty_billing(self.place)
        topic, group = self.place.new_topic(), f"{self.place.deployment.namespace}.{secrets.token_hex(4)}"
        environments = [
            self.place.environment(
                "billing-1", {"INSTANCE": f"billing-{number}", "ORDERS_TOPIC": topic, "CONSUMER_GROUP": group}
            )
            for number in range(1, members + 1)
        ]
        till = Till(self.place.kafka, topic, self.per_second, share_poisoned)
        with (
            self.place.running(["services.billing", "consumer"], environments),
            self.place.connect("billing") as connection,
        ):
            _warm_up(till, connection, members)
            begun = time.time()
            seen = _watch(connection, partial(till.sell_for, self.seconds), lambda: len(till.healthy))
            _wait_for(lambda: _one(connection, _PARKED) == till.poisoned, f"{till.poisoned} parked events")
        return _waits(self.place.kafka, till, begun, seen)


def _warm_up(till: Till, connection: Connection, members: int) -> None:
    """Sell, until every member bills."""

    def all_bill() -> bool:
        till.sell(24)
        time.sleep(0.5)
        return _one(connection, _MEMBERS) == members

    _wait_for(all_bill, f"{members} members at work")


def _watch(connection: Connection, sell: Callable[[], None], sold: Callable[[], int]) -> dict[str, float]:
    """Return when each invoice of the till's orders could be seen, once all of them can."""
    seen: dict[str, float] = {}
    last, till = 0, threading.Thread(target=sell)

    def look() -> bool:
        nonlocal last
        for row_id, order_id in connection.execute(_INVOICED, [last]).fetchall():
            last, seen[order_id] = row_id, time.time()
        return len(seen) == sold()

    look()
    till.start()
    while till.is_alive():
        look()
        time.sleep(LOOK_SECONDS)
    _wait_for(look, "every healthy event billed")
    return seen


def _waits(kafka: str, till: Till, begun: float, seen: dict[str, float]) -> Waits:
    arrived = {
        (message.key() or b"").decode(): message.timestamp()[1] / 1000
        for message in stopwatch.messages(kafka, till.topic)
        if stopwatch.event_id(message).decode() in till.healthy
    }
    taken = sorted(1000 * (seen[order_id] - at) for order_id, at in arrived.items() if at >= begun)
    return Waits(quantiles(taken, n=2)[0], quantiles(taken, n=100)[-1], taken[-1])


def _wait_for(done: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not done():
        if time.monotonic() > end:
            raise RuntimeError(f"{what}: not within {PATIENCE_SECONDS:.0f} s; see children.log")
        time.sleep(LOOK_SECONDS)


def _one(connection: Connection, query: str) -> int:
    row = connection.execute(query).fetchone()
    assert row is not None
    return int(row[0])
