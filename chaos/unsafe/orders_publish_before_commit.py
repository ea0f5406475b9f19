"""An order API that publishes the event itself and commits afterwards: the dual write, log first.

Guard removed: the outbox as the only way into the log. Scenario: ``commit_cut_short``.
Expected verdict: FAIL, with S06 S13 red: the transaction is rolled back behind a message that cannot be taken back, so
the log tells of an order that never was, and billing invoices it. S05 holds: what is in the outbox is in the log, too.
"""

import os
from functools import partial

from confluent_kafka import Producer
from flask import Flask
from sqlalchemy import Connection

from chaos.unsafe import Variant
from services.orders import place_order
from services.orders.settings import ApiSettings
from services.orders.wiring import build_api
from shared import http, logs, outbox
from shared.clock import utc_now
from shared.envelope import Envelope, to_headers
from shared.kafka import producer_config
from shared.settings import read

VARIANT = Variant(
    name="orders_publish_before_commit",
    guard="outbox-log-first",
    replaces=("services.orders", "api"),
    scenario="commit_cut_short",
    must_fail=frozenset({"S06", "S13"}),
    may_fail=frozenset(
        {"S00", "S07", "S09", "S10", "S12", "S14", "S15", "S17", "S18", "S19", "S22", "S23", "S25", "L02", "L05", "W08"}
    ),
)


class Publisher:
    """Sends the events of a transaction as they are written, and writes them."""

    def __init__(self, producer: Producer, topic: str) -> None:
        self._producer = producer
        self._topic = topic

    def add(self, connection: Connection, *events: outbox.Event) -> None:
        for event in events:
            self._publish(event)
        outbox.add(connection, *events)

    def _publish(self, event: outbox.Event) -> None:
        envelope = Envelope(
            event.event_id, event.type, event.source, event.aggregate_type, event.aggregate_id,
            event.aggregate_version, event.dataschema, event.payload, utc_now(), event.traceparent,
        )  # fmt: skip
        self._producer.produce(self._topic, event.payload, event.aggregate_id, headers=dict(to_headers(envelope)))
        self._producer.flush()


def build(settings: ApiSettings) -> Flask:
    producer = Producer(producer_config(os.environ["KAFKA_BOOTSTRAP_SERVERS"], settings.instance))
    place_order.outbox = Publisher(producer, os.environ["ORDERS_TOPIC"])  # type: ignore[attr-defined,assignment]
    return build_api(settings)


def main() -> None:
    settings = read(ApiSettings, os.environ)
    logs.configure(settings.instance, settings.log_level)
    http.serve(partial(build, settings), settings.http_host, settings.http_port, settings.http_workers)


if __name__ == "__main__":
    main()
