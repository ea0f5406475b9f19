"""A relay that counts a row as published when the client has taken it.

Guard removed: the delivery report. The client sends in the background, up to a second later ("fire and forget").
Scenario: ``relay_killed_after_publish``.
Expected verdict: FAIL, with S05 red: what was in the client's memory when the process died is settled and was never
sent. S06 holds.
"""

import time
from collections.abc import Sequence

from chaos.unsafe import Variant, _relays
from services.relay.position import Row
from services.relay.settings import Settings
from services.relay.transports import KafkaTransport, Published

VARIANT = Variant(
    name="relay_settles_before_report",
    guard="delivery-report",
    replaces=("services.relay",),
    scenario="relay_killed_after_publish",
    must_fail=frozenset({"S05"}),
    may_fail=frozenset(
        {"S00", "S09", "S10", "S12", "S15", "S17", "S18", "S19", "S20", "S23", "L01", "W02", "W03", "W05", "W08"}
    ),
)


class FireAndForget(KafkaTransport):
    def publish(self, rows: Sequence[Row], deadline_seconds: float) -> Published:
        producer, deadline = self._client(), time.monotonic() + deadline_seconds
        for row in rows:
            self._produce(producer, row, None, deadline)
        return Published(len(rows))


def transport(settings: Settings) -> KafkaTransport:
    return _relays.kafka_transport(FireAndForget, settings, **{"linger.ms": 1_000})


if __name__ == "__main__":
    _relays.run(kafka=transport)
