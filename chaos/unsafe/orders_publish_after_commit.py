"""An order API that commits the order and then publishes the event itself: the dual write, database first.

Guard removed: the outbox, the event in the order's own transaction. Scenario: ``killed_between_steps``.
Expected verdict: FAIL, with S04 red: orders whose process died between the two writes have no event, and nobody will
ever tell of them. S11 holds.
"""

import os
import threading
from functools import partial
from typing import Any

from confluent_kafka import Producer
from flask import Flask

from chaos.unsafe import Variant
from services.orders import api, place_order
from services.orders.settings import ApiSettings
from services.orders.wiring import build_api
from shared import http, logs, outbox
from shared.clock import utc_now
from shared.envelope import Envelope, to_headers
from shared.kafka import producer_config
from shared.settings import read

VARIANT = Variant(
    name="orders_publish_after_commit",
    guard="outbox-database-first",
    replaces=("services.orders", "api"),
    scenario="killed_between_steps",
    must_fail=frozenset({"S04"}),
    may_fail=frozenset(
        {"S00", "S03", "S05", "S06", "S07", "S09", "S10", "S12", "S13", "S14", "S15", "S17", "S18", "S19", "S20", "S23",
         "L01", "W02", "W03", "W05", "W08"}
    ),
)  # fmt: skip


class Publisher:
    """Remembers the events of a transaction instead of writing them, and publishes them after it."""

    def __init__(self, producer: Producer, topic: str) -> None:
        self._producer = producer
        self._topic = topic
        self._place = place_order.place_order
        self._mine = threading.local()

    def add(self, _connection: object, *events: outbox.Event) -> None:
        self._mine.events = events

    def place_order(self, *arguments: Any, **options: Any) -> place_order.Placed:
        self._mine.events = ()
        placed = self._place(*arguments, **options)
        for event in self._mine.events:
            self._publish(event)
        return placed

    def _publish(self, event: outbox.Event) -> None:
        envelope = Envelope(
            event.event_id, event.type, event.source, event.aggregate_type, event.aggregate_id,
            event.aggregate_version, event.dataschema, event.payload, utc_now(), event.traceparent,
        )  # fmt: skip
        self._producer.produce(self._topic, event.payload, event.aggregate_id, headers=dict(to_headers(envelope)))
        self._producer.flush()


def build(settings: ApiSettings) -> Flask:
    producer = Producer(producer_config(os.environ["KAFKA_BOOTSTRAP_SERVERS"], settings.instance))
    publisher = Publisher(producer, os.environ["ORDERS_TOPIC"])
    place_order.outbox = publisher  # type: ignore[attr-defined,assignment]
    api.place_order = publisher.place_order  # type: ignore[attr-defined]
    return build_api(settings)


def main() -> None:
    settings = read(ApiSettings, os.environ)
    logs.configure(settings.instance, settings.log_level)
    http.serve(partial(build, settings), settings.http_host, settings.http_port, settings.http_workers)


if __name__ == "__main__":
    main()
