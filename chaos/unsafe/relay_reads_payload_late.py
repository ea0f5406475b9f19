"""A relay that makes an event's payload when it publishes, from the order as it is by then.

Guard removed: the payload in the outbox, as it was when the event happened. Scenario: ``relay_killed_after_publish``.
Expected verdict: FAIL, with S07 red: two copies of one event differ, and both differ from what was written. S11 holds.
"""

import json
from typing import Any

import psycopg

from chaos.unsafe import Variant, _relays
from services.relay.position import Row
from services.relay.settings import Settings
from services.relay.transports import KafkaTransport
from shared import database

VARIANT = Variant(
    name="relay_reads_payload_late",
    guard="payload-at-write-time",
    replaces=("services.relay",),
    scenario="relay_killed_after_publish",
    must_fail=frozenset({"S07"}),
    may_fail=frozenset({"S14"}),
    before_start={"orders": ("GRANT SELECT ON orders TO orders_relay",)},
)
_STATE = "SELECT state, version FROM orders WHERE order_id = %s::uuid"


class ReadsLate(KafkaTransport):
    """Adds to the payload what the order says of itself now."""

    connection: psycopg.Connection[Any]

    def _message(self, row: Row) -> dict[str, Any]:
        message = super()._message(row)
        if row.aggregate_type == "order":
            found = self.connection.execute(_STATE, (row.aggregate_id,)).fetchone()
            assert found is not None
            message["value"] = json.dumps({**json.loads(row.payload), "state": found[0], "version": found[1]})
        return message


def transport(settings: Settings) -> KafkaTransport:
    made = _relays.kafka_transport(ReadsLate, settings)
    assert isinstance(made, ReadsLate)
    made.connection = database.connect(settings.database_url, settings.database_password_file, settings.instance)
    return made


if __name__ == "__main__":
    _relays.run(kafka=transport)
