"""A relay whose producer gives a message up by itself after a while.

Guard removed: no message time-out, and the purge of everything at the relay's own deadline.
Scenario: ``kafka_stutters``.
Expected verdict: FAIL, with S09 S10 red: an earlier event of an aggregate expires in the queue while a later one,
handed over a little after it, is still in time and delivered when the broker goes on. The earlier one is sent again
behind it. S11 holds.

A long linger and a short queue spread the handing over of a chunk, as a large chunk does by itself. A guard whose
absence shows only in chunks of thousands would not be seen at the pace of a demo.
"""

import time
from collections.abc import Sequence
from functools import partial

from chaos.unsafe import Variant, _relays
from services.relay.position import Row
from services.relay.settings import Settings
from services.relay.transports import KafkaTransport, Published, _Reports

VARIANT = Variant(
    name="relay_with_message_timeout",
    guard="purge-at-deadline",
    replaces=("services.relay",),
    scenario="kafka_stutters",
    must_fail=frozenset({"S09", "S10"}),
    may_fail=frozenset({"S00", "S12", "S15", "S17", "S18", "S19", "S20", "S23", "L01", "W02", "W03", "W08"}),
)
EXPIRING = {
    "delivery.timeout.ms": 600,
    "enable.gapless.guarantee": False,
    "queue.buffering.max.messages": 8,
    "linger.ms": 200,
}


class ExpiringMessages(KafkaTransport):
    """Keeps its producer, and what is still in it, whatever has failed."""

    def _send(self, rows: Sequence[Row], deadline_seconds: float, deadline: float) -> Published:
        producer, reports = self._client(), _Reports(len(rows))
        try:
            for index, row in enumerate(rows):
                self._produce(producer, row, partial(reports.take, index), deadline)
            while reports.waiting and time.monotonic() < deadline:
                producer.flush(0.1)
        except BufferError:
            pass  # no room until the deadline
        return Published(len(rows)) if reports.count == len(rows) else reports.failure(deadline_seconds)


def transport(settings: Settings) -> KafkaTransport:
    return _relays.kafka_transport(ExpiringMessages, settings, **EXPIRING)


if __name__ == "__main__":
    _relays.run(kafka=transport)
