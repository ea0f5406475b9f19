"""How far billing goes with more members, and what it does not get past: one partition, one series of numbers.

All members of a round are processes of one Kafka group on one log. Marks of all are put together by the machine's
clock. With a series of its own for each member the numbers of invoices are no longer one gapless series, which shows
what that series costs, and is no way to run billing.
"""

import json
import secrets
from dataclasses import dataclass
from subprocess import PIPE

from chaos.bench import backlog, stopwatch
from chaos.bench.consumers import empty_billing
from chaos.bench.pace import Mark, middle_rate
from chaos.bench.place import Place
from chaos.bench.rounds import Rival
from infra.kafka.topics import PARTITIONS

ONE = "1 member"
OURS, OWN_SERIES = "ours", "own-series"
COUNTS = (2, 4)


@dataclass(slots=True)
class Members:
    place: Place
    events: int
    seconds: float = 12.0

    def rivals(self) -> list[Rival]:
        spread, narrow = self._log(), self._log(partitions=1)
        return [
            self._rival(ONE, spread, 1),
            *(self._rival(f"{count} members", spread, count) for count in COUNTS),
            self._rival("2 members, a series each", spread, 2, OWN_SERIES),
            self._rival("2 members, all in one partition", narrow, 2),
        ]

    def _rival(self, shown: str, topic: str, count: int, kind: str = OURS) -> Rival:
        def measure() -> float:
            empty_billing(self.place)
            return self._consume(topic, count, kind)

        return Rival(shown, measure)

    def _consume(self, topic: str, count: int, kind: str) -> float:
        group = f"{self.place.deployment.namespace}.{secrets.token_hex(4)}"
        environments = [
            self.place.environment(
                "billing-1",
                {
                    "INSTANCE": f"billing-{number}",
                    "ORDERS_TOPIC": topic,
                    "CONSUMER_GROUP": group,
                    "BENCH_RIVAL": kind,
                    "BENCH_EVENTS": str(self.events),
                    "BENCH_SECONDS": str(self.seconds),
                },
            )
            for number in range(1, count + 1)
        ]
        with self.place.running(["chaos.bench.member"], environments, stdout=PIPE) as children:
            found = [json.load(child.stdout) for child in children if child.stdout]
        return middle_rate(together([[(at, done) for at, done in each["marks"]] for each in found]))

    def _log(self, partitions: int = PARTITIONS) -> str:
        topic = self.place.new_topic(partitions)
        with self.place.connect("orders") as connection:
            backlog.fill(connection, self.events, versions=1)
        environment = self.place.environment("relay-orders-1", {"ORDERS_TOPIC": topic})
        with self.place.running(["chaos.bench.bare_producer"], [environment]):
            stopwatch.wait_for(self.place.kafka, topic, self.events, seconds=300.0)
        return topic


def together(members: list[list[Mark]]) -> list[Mark]:
    """Put the marks of several members into one line: how many all of them had done by when."""
    steps = []
    for marks in members:
        before = 0
        for at, done in marks:
            steps.append((at, done - before))
            before = done
    total, line = 0, []
    for at, more in sorted(steps):
        total += more
        line.append((at, total))
    return line
