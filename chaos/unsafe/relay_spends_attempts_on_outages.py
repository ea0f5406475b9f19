"""A relay that counts an attempt of the row whenever the broker did not take it, whoever was at fault.

Guard removed: telling the broker's fault from the row's. Scenario: ``kafka_stalls``.
Expected verdict: FAIL, with S25 red: rows that nothing is wrong with are set aside after three attempts, while the
broker was away for seconds. S11 holds.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from chaos.unsafe import Variant, _relays
from services.relay.failures import Fault
from services.relay.position import Row
from services.relay.transports import KafkaTransport, Published

VARIANT = Variant(
    name="relay_spends_attempts_on_outages",
    guard="fault-classes",
    replaces=("services.relay",),
    scenario="kafka_stalls",
    must_fail=frozenset({"S25"}),
    may_fail=frozenset({"S00", "S09", "S10", "S12", "S15", "S17", "S18", "S19", "S20", "S23", "L01", "S22", "W08"}),
    environment={"RELAY_PRODUCE_DEADLINE_SECONDS": "0.5"},
)


class BlamesTheRow(KafkaTransport):
    def publish(self, rows: Sequence[Row], deadline_seconds: float) -> Published:
        published = super().publish(rows, deadline_seconds)
        return replace(published, fault=Fault.REFUSED) if published.error else published


if __name__ == "__main__":
    _relays.run(kafka=partial(_relays.kafka_transport, BlamesTheRow))
