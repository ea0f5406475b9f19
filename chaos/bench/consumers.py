"""Rival consumers on the same log: fresh events, nothing but duplicates, and one in a hundred poison.

Every rival is a process of its own with a Kafka group of its own, so it starts at the beginning. Before a round of
fresh events billing's tables are emptied; before a round of duplicates they hold what those events have already done.
"""

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from subprocess import PIPE

from psycopg import Connection

from chaos.bench import backlog, stopwatch
from chaos.bench.pace import middle_rate
from chaos.bench.place import Place
from chaos.bench.rounds import Rival

FRESH: Mapping[str, str] = {
    "ours": "ours",
    "a transaction per message": "one-by-one",
    "a look before the insert": "look-first",
    "no inbox (the limit)": "no-inbox",
}
LIMIT = "decode-only"
LIMIT_SHOWN = "consuming and decoding alone (the limit)"
HEALTHY = "ours, no poison"
ROUND_SECONDS = 20.0
SLOW_SECONDS = 6.0

_EMPTY = """
SELECT format('TRUNCATE %s CASCADE', string_agg(format('%I', relname), ', '))
FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE nspname = 'public' AND relkind IN ('r', 'p') AND NOT relispartition
  AND relname <> 'alembic_version' AND relname NOT LIKE 'relay%'
"""


@dataclass(slots=True)
class Consumers:
    place: Place
    events: int
    memory_bytes: dict[str, int] = field(default_factory=dict)
    """Rival → the most memory that it has been seen with."""

    def fresh(self, topic: str) -> list[Rival]:
        return [self._rival(shown, name, topic, empty=True) for shown, name in FRESH.items()]

    def duplicates(self, topic: str) -> list[Rival]:
        """To be measured after ``apply_all``."""
        return [
            self._rival("ours, all duplicates", "ours", topic, empty=False),
            self._rival(LIMIT_SHOWN, LIMIT, topic, empty=False),
        ]

    def poisoned(self, healthy: str, poisoned: str) -> list[Rival]:
        return [
            self._rival(HEALTHY, "ours", healthy, empty=True),
            self._rival("ours, 1 % poison", "ours", poisoned, empty=True),
        ]

    def apply_all(self, topic: str) -> None:
        """Let every event of the topic have its effect."""
        self._empty()
        self._consume("ours", topic, seconds=300.0)

    def log(self, *, poison_every: int = 0) -> str:
        """Fill a fresh topic with the OrderPlaced of so many different orders."""
        topic = self.place.new_topic()
        with self.place.connect("orders") as connection:
            backlog.fill(connection, self.events, versions=1, poison_every=poison_every)
        environment = self.place.environment("relay-orders-1", {"ORDERS_TOPIC": topic})
        with self.place.running(["chaos.bench.bare_producer"], [environment]):
            stopwatch.wait_for(self.place.kafka, topic, self.events, seconds=300.0)
        return topic

    def _rival(self, shown: str, name: str, topic: str, *, empty: bool) -> Rival:
        seconds = SLOW_SECONDS if name == "one-by-one" else ROUND_SECONDS

        def measure() -> float:
            if empty:
                self._empty()
            return self._consume(name, topic, seconds)

        return Rival(shown, measure)

    def _consume(self, name: str, topic: str, seconds: float) -> float:
        environment = self.place.environment(
            "billing-1",
            {
                "ORDERS_TOPIC": topic,
                "CONSUMER_GROUP": f"{self.place.deployment.namespace}.{secrets.token_hex(4)}",
                "BENCH_RIVAL": name,
                "BENCH_EVENTS": str(self.events),
                "BENCH_SECONDS": str(seconds),
            },
        )
        with self.place.running(["chaos.bench.member"], [environment], stdout=PIPE) as (child,):
            assert child.stdout is not None
            found = json.load(child.stdout)
        self.memory_bytes[name] = max(self.memory_bytes.get(name, 0), found["memory_bytes"])
        return middle_rate([(at, count) for at, count in found["marks"]])

    def _empty(self) -> None:
        empty_billing(self.place)


def empty_billing(place: Place) -> None:
    """Let billing know of nothing."""
    with place.connect("billing") as connection:
        connection.execute(_one(connection, _EMPTY))
        connection.execute("CHECKPOINT")


def _one(connection: Connection, query: str) -> str:
    row = connection.execute(query).fetchone()
    assert row is not None
    return str(row[0])
