"""Does history slow a relay down? The rate on an empty table, and behind millions of old rows.

A transaction is held open meanwhile: nothing can be vacuumed away, so what a relay updates piles up as dead rows. It
works beside it at a trickle for as long as the transaction has been held, then gets the backlog.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from psycopg import Connection

from chaos.bench import backlog, stopwatch
from chaos.bench.place import Place
from chaos.bench.rounds import Rival

EMPTY, BEHIND = "an empty table", "behind history, a transaction held open"
TRICKLE_PER_SECOND = 100
DRAIN_SECONDS = 180.0


@dataclass(slots=True)
class History:
    """``events`` is the backlog that is drained, ``rows`` what lies behind it."""

    place: Place
    events: int
    rows: int
    held_seconds: float

    def rivals(self) -> list[Rival]:
        return [Rival(EMPTY, self._empty), Rival(BEHIND, self._behind)]

    def _empty(self) -> float:
        with self.place.connect("orders") as connection:
            backlog.fill(connection, 0)
            return self._drain(connection, trickle_seconds=0.0)

    def _behind(self) -> float:
        with self.place.connect("orders") as connection, self.place.connect("orders") as other:
            backlog.fill(connection, self.rows)
            backlog.all_done(connection)
            with held_open(other):
                return self._drain(connection, trickle_seconds=self.held_seconds)

    def _drain(self, connection: Connection, trickle_seconds: float) -> float:
        topic = self.place.new_topic()
        environment = self.place.environment("relay-orders-1", {"ORDERS_TOPIC": topic})
        with self.place.running(["services.relay"], [environment]):
            before = trickle(connection, trickle_seconds)
            stopwatch.wait_for(self.place.kafka, topic, before, DRAIN_SECONDS)
            backlog.add(connection, self.events, salt="backlog")
            stopwatch.wait_for(self.place.kafka, topic, before + self.events, DRAIN_SECONDS)
        return stopwatch.read(self.place.kafka, topic).after(before).rate


def trickle(connection: Connection, seconds: float, every_seconds: float = 1.0) -> int:
    """Write a few events every now and then for so long. Returns how many."""
    each = round(TRICKLE_PER_SECOND * every_seconds)
    rounds = round(seconds / every_seconds)
    for tick in range(rounds):
        begun = time.monotonic()
        backlog.add(connection, each, salt=f"trickle {tick}/")
        time.sleep(max(0.0, every_seconds - (time.monotonic() - begun)))
    return each * rounds


@contextmanager
def held_open(connection: Connection) -> Iterator[None]:
    """Hold a transaction open that has a transaction id of its own."""
    with connection.transaction(force_rollback=True):
        connection.execute("SELECT pg_current_xact_id()")
        yield
