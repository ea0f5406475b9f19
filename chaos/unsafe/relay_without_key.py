"""A relay that publishes without a key.

Guard removed: the aggregate's id as the message's key. Scenario: ``smoke``; no fault is needed.
Expected verdict: FAIL, with S08 red: the events of one aggregate are scattered over the partitions, and nothing orders
two partitions. S11 holds: the inbox does not care where a copy stood.
"""

from functools import partial
from typing import Any

from chaos.unsafe import Variant, _relays
from services.relay.position import Row
from services.relay.transports import KafkaTransport

VARIANT = Variant(
    name="relay_without_key",
    guard="partition-key",
    replaces=("services.relay",),
    scenario="smoke",
    must_fail=frozenset({"S08"}),
    may_fail=frozenset({"S09", "S10", "S00", "S12", "S15", "S16", "S17", "S18", "S19", "S20", "S23", "L02"}),
)


class WithoutKey(KafkaTransport):
    """The same message, and nothing that says where it belongs."""

    def _message(self, row: Row) -> dict[str, Any]:
        return super()._message(row) | {"key": None}


if __name__ == "__main__":
    _relays.run(kafka=partial(_relays.kafka_transport, WithoutKey))
