"""Whether a member's memory grows with what it has been handed: its size after so many deliveries of one long log.

The log is several backlogs one behind the other, each of which comes several times: its first pass is news, with
billing's full effect, and the others are duplicates, as in a replay.
"""

import json
import secrets
from dataclasses import dataclass
from subprocess import PIPE
from typing import Final

from chaos.bench import backlog, stopwatch
from chaos.bench.consumers import empty_billing
from chaos.bench.place import Place

PASSES: Final = 5
BACKLOGS: Final = 2
SECONDS: Final = 1_200.0
PATIENCE_SECONDS: Final = 600.0


@dataclass(slots=True)
class Memory:
    """One member's. ``deliveries`` is how long the log is."""

    place: Place
    deliveries: int

    def sizes(self) -> dict[int, float]:
        """Return deliveries so far → MB of the process."""
        topic = self._log()
        empty_billing(self.place)
        environment = self.place.environment(
            "billing-1",
            {
                "ORDERS_TOPIC": topic,
                "CONSUMER_GROUP": f"{self.place.deployment.namespace}.{secrets.token_hex(4)}",
                "BENCH_RIVAL": "ours",
                "BENCH_EVENTS": str(self._per_pass * PASSES * BACKLOGS),
                "BENCH_SECONDS": str(SECONDS),
            },
        )
        with self.place.running(["chaos.bench.member"], [environment], stdout=PIPE) as (child,):
            assert child.stdout is not None
            found = json.load(child.stdout)
        return {count: size / 2**20 for count, size in found["sizes"]}

    @property
    def _per_pass(self) -> int:
        return self.deliveries // (PASSES * BACKLOGS)

    def _log(self) -> str:
        topic = self.place.new_topic()
        environment = self.place.environment("relay-orders-1", {"ORDERS_TOPIC": topic, "BENCH_PASSES": str(PASSES)})
        for number in range(1, BACKLOGS + 1):
            with self.place.connect("orders") as connection:
                backlog.fill(connection, 0)
                backlog.add(connection, self._per_pass, salt=str(number), versions=1)
            with self.place.running(["chaos.bench.bare_producer"], [environment]):
                written = number * PASSES * self._per_pass
                if not stopwatch.wait_for(self.place.kafka, topic, written, PATIENCE_SECONDS):
                    raise RuntimeError(f"the log has not reached {written:,} messages; see children.log")
        return topic
