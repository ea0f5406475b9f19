"""Billing as it is wired, on a real topic."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

from confluent_kafka import Producer
from sqlalchemy import Engine

from services.billing import wiring
from services.billing.settings import Settings
from shared.envelope import to_headers
from shared.inbox import Delivery
from shared.kafka import producer_config
from tests.conftest import TopicFactory, eventually
from tests.integration.billing.orders import cancelled, deliver, placed, rows


@contextmanager
def member(settings: Settings) -> Iterator[None]:
    """Run one member of the group until the block ends; it finishes its batch and leaves."""
    stop = threading.Event()
    thread = threading.Thread(target=wiring.build(settings).run, args=(stop,))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(20)
        assert not thread.is_alive()


def publish(bootstrap: str, topic: str, batch: list[Delivery]) -> None:
    producer = Producer(producer_config(bootstrap, "test"))
    for delivery in batch:
        envelope = delivery.envelope
        producer.produce(topic, envelope.payload, envelope.aggregate_id, headers=dict(to_headers(envelope)))
    assert producer.flush(20) == 0


def test_orders_on_the_topic_become_invoices_once(
    engine: Engine, database_url: str, kafka: str, topic: TopicFactory
) -> None:
    """Each event is published twice and read by two members after one another; each order is invoiced once."""
    name = topic(2)
    settings = Settings(
        database_url=database_url,
        kafka_bootstrap_servers=kafka,
        orders_topic=name,
        consumer_group=f"test.{uuid4().hex}",
    )
    orders = [placed() for _ in range(20)]
    batch = deliver(*orders, cancelled(orders[0]))
    publish(kafka, name, batch)
    with member(settings):
        eventually(lambda: rows(engine, "SELECT count(*) FROM inbox") == [(21,)], 20)
    publish(kafka, name, [*batch, *deliver(placed())])
    with member(settings):
        eventually(lambda: rows(engine, "SELECT count(*) FROM inbox") == [(22,)], 20)
    assert rows(engine, "SELECT count(*), count(DISTINCT order_id), max(sequence) FROM invoice") == [(21, 21, 21)]
    assert rows(engine, "SELECT count(*) FROM credit_note") == [(1,)]
    provenance = rows(engine, "SELECT DISTINCT consumer, topic, generation > 0 FROM inbox")
    assert provenance == [(settings.consumer_group, name, True)]
