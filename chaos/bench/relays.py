"""Rival relays on the same backlog and the same broker.

Each rival drains into a fresh topic. Its rate is read off the log, over the middle 60 %, and a rival that lost an event
has no rate.
"""

from dataclasses import dataclass
from functools import partial

from chaos.bench import backlog, debezium, stopwatch, textbook
from chaos.bench.place import Place
from chaos.bench.rounds import Rival
from shared.errors import OnceError

OURS, TWO, FOUR = "ours, one relay", "ours, two relays", "ours, four relays"
TEXTBOOK, BATCHED = "textbook, row by row", "textbook, batches of 500"
BARE = "bare producer (the limit)"

DRAIN_SECONDS = 180.0
ROW_BY_ROW_SECONDS = 8.0
"""The slow one gets this long; what it has published by then gives its rate."""


@dataclass(frozen=True, slots=True)
class Relays:
    """The rivals, on a place whose outbox is filled with so many events."""

    place: Place
    events: int
    connect: debezium.Rival

    def rivals(self) -> list[Rival]:
        return [
            Rival(OURS, lambda: self._ours(1)),
            Rival(TWO, lambda: self._ours(2)),
            Rival(FOUR, lambda: self._ours(4)),
            Rival(TEXTBOOK, lambda: self._textbook(1, ROW_BY_ROW_SECONDS)),
            Rival(BATCHED, lambda: self._textbook(500, DRAIN_SECONDS)),
            *(Rival(f"Debezium, {name}", partial(self._debezium, name)) for name in debezium.THROUGHPUT),
            Rival(BARE, self._bare),
        ]

    def _ours(self, relays: int) -> float:
        with self.place.connect("orders") as connection:
            backlog.start_over(connection)
        topic = self.place.new_topic()
        environments = [
            self.place.environment("relay-orders-1", {"INSTANCE": f"relay-{number}", "ORDERS_TOPIC": topic})
            for number in range(relays)
        ]
        with self.place.running(["services.relay"], environments):
            stopwatch.wait_for(self.place.kafka, topic, self.events, DRAIN_SECONDS)
        return self._rate(topic, self.events)

    def _textbook(self, batch: int, seconds: float) -> float:
        with self.place.connect("orders") as connection:
            textbook.prepare(connection, self.events)
        topic = self.place.new_topic()
        environment = self.place.environment("relay-orders-1", {"ORDERS_TOPIC": topic, "TEXTBOOK_BATCH": str(batch)})
        with self.place.running(["chaos.bench.textbook"], [environment]):
            stopwatch.wait_for(self.place.kafka, topic, self.events, seconds)
        return self._rate(topic, self.events if batch > 1 else 1)

    def _debezium(self, configuration: str) -> float:
        self.connect.make_slot(configuration)
        with self.place.connect("orders") as connection:
            backlog.fill(connection, self.events)
        return self.connect.publish(configuration, self.place.new_topic(), self.events).rate

    def _bare(self) -> float:
        topic = self.place.new_topic()
        environment = self.place.environment("relay-orders-1", {"ORDERS_TOPIC": topic})
        with self.place.running(["chaos.bench.bare_producer"], [environment]):
            stopwatch.wait_for(self.place.kafka, topic, self.events, DRAIN_SECONDS)
        return self._rate(topic, self.events)

    def _rate(self, topic: str, least: int) -> float:
        arrivals = stopwatch.read(self.place.kafka, topic)
        if len(arrivals.events) < least:
            raise OnceError(
                f"Only {len(arrivals.events)} of {least} events arrived in {topic}. The rival's own words are in "
                f"{self.place.directory / 'children.log'}."
            )
        return arrivals.rate
