"""The consumer of billing's events, as the stack wires it, on a real topic."""

import threading
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer
from sqlalchemy import Engine

from services.orders.settings import ConsumerSettings
from services.orders.wiring import build_consumer
from shared.envelope import to_headers
from shared.inbox import Delivery
from shared.kafka import producer_config
from tests.conftest import eventually
from tests.integration.orders.examples import Place, Rows, invoice_issued, payment_declined

Publish = Callable[[Delivery], None]


@pytest.fixture
def billing_topic(topic: Callable[[], str]) -> str:
    return topic()


@pytest.fixture
def publish(kafka: str, billing_topic: str) -> Publish:
    producer = Producer(producer_config(kafka, "test"))

    def publish(delivery: Delivery) -> None:
        event = delivery.envelope
        producer.produce(billing_topic, event.payload, key=event.aggregate_id, headers=[*to_headers(event)])
        assert producer.flush(10) == 0

    return publish


@pytest.fixture
def consumer(kafka: str, billing_topic: str, database_url: str, engine: Engine) -> Iterator[None]:
    settings = ConsumerSettings(
        database_url=database_url,
        kafka_bootstrap_servers=kafka,
        billing_topic=billing_topic,
        consumer_group=billing_topic,
    )
    stop = threading.Event()
    member = threading.Thread(target=build_consumer(settings).run, args=(stop,))
    member.start()
    yield
    stop.set()
    member.join(20)
    assert not member.is_alive()


def test_billings_events_settle_orders_once(consumer: None, publish: Publish, place: Place, rows: Rows) -> None:
    """However often an event is in the log, the order moves on once and tells of it once."""
    confirmed, declined = place(), place()
    verdicts = [invoice_issued(confirmed), payment_declined(declined)]
    for verdict in verdicts * 3:
        publish(verdict)
    last = place()
    publish(invoice_issued(last, "INV-2026-000002"))
    eventually(
        lambda: (
            sorted(row["state"] for row in rows("SELECT state FROM orders")) == ["confirmed", "confirmed", "declined"]
        ),
        deadline_seconds=30,
        describe="all three orders are settled",
    )
    assert rows("SELECT DISTINCT version FROM orders") == [{"version": 2}]
    assert rows("SELECT count(*) FROM inbox") == [{"count": 3}]
    assert rows("SELECT count(*) FROM outbox WHERE aggregate_version = 2") == [{"count": 3}]
