"""Events on their way to a real Kafka: order, key, headers, bytes, and a broker that is away."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, TopicPartition

from services.relay.position import Row
from services.relay.transports import KafkaTransport, Published
from shared import envelope
from shared.events import OrderConfirmed
from shared.kafka import producer_config
from shared.outbox import new_event
from tests.conftest import TopicFactory


def row(number: int, aggregate_id: str, version: int) -> Row:
    payload = OrderConfirmed(order_id=aggregate_id, invoice_number=str(number))
    event = new_event("order", aggregate_id, version, payload, source="/orders")
    now = datetime.now(UTC)
    return Row(
        number, event.event_id, "order", aggregate_id, version, event.type, event.source, event.dataschema,
        event.payload, None, now,
    )  # fmt: skip


def read_all(bootstrap: str, topic: str, expected: int) -> list[Message]:
    reader = Consumer({"bootstrap.servers": bootstrap, "group.id": "reader", "auto.offset.reset": "error"})
    reader.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in range(12)])
    messages: list[Message] = []
    while len(messages) < expected:
        batch = reader.consume(expected, timeout=10)
        assert batch, f"{len(messages)} of {expected} messages came"
        messages += [message for message in batch if message.error() is None]
    reader.close()
    return messages


@pytest.fixture
def away() -> Iterator[KafkaTransport]:
    """Nobody listens there."""
    transport = KafkaTransport(producer_config("127.0.0.1:9", "test"), {"order": "orders"})
    yield transport
    transport.close()


def test_events_of_an_aggregate_keep_their_order_on_one_partition(kafka: str, topic: TopicFactory) -> None:
    """The key is the aggregate's id; the partition's order is that of the rows."""
    name = topic()
    transport = KafkaTransport(producer_config(kafka, "test"), {"order": name})
    rows = [row(n, f"order-{n % 20}", n // 20 + 1) for n in range(2000)]
    assert transport.publish(rows, 20) == Published(2000)
    transport.close()
    versions: dict[tuple[bytes, int], list[int]] = defaultdict(list)
    for message in read_all(kafka, name, 2000):
        event = envelope.from_message(message.headers(), message.value())  # type: ignore[arg-type]
        versions[message.key(), message.partition()].append(event.aggregate_version)  # type: ignore[index]
    assert len(versions) == 20, "an aggregate stands on two partitions"
    assert all(found == list(range(1, 101)) for found in versions.values())


def test_the_bytes_in_the_log_are_the_bytes_of_the_row(kafka: str, topic: TopicFactory) -> None:
    """Payload, id and attributes arrive as they were written."""
    name = topic()
    transport = KafkaTransport(producer_config(kafka, "test"), {"order": name})
    sent = row(1, "order-1", 1)
    assert transport.publish([sent], 20) == Published(1)
    transport.close()
    (message,) = read_all(kafka, name, 1)
    event = envelope.from_message(message.headers(), message.value())  # type: ignore[arg-type]
    assert (event.event_id, event.payload, event.occurred_at) == (sent.event_id, sent.payload, sent.occurred_at)


def test_a_broker_that_is_away_is_a_result(away: KafkaTransport) -> None:
    """Nothing is counted, nothing is raised, and the deadline holds."""
    published = away.publish([row(1, "order-1", 1)], deadline_seconds=0.3)
    assert published.count == 0
    assert published.error == "no report within 0.3 s"


def test_after_a_failure_the_next_attempt_begins_afresh(kafka: str, topic: TopicFactory, away: KafkaTransport) -> None:
    """Nothing that was given up is sent later, behind the back of the next attempt."""
    name = topic()
    rows = [row(1, "order-1", 1), row(2, "order-1", 2)]
    away.publish(rows, deadline_seconds=0.2)
    away._config |= {"bootstrap.servers": kafka}
    away._topics = {"order": name}
    assert away.publish(rows[1:], 20) == Published(1)
    (message,) = read_all(kafka, name, 1)
    assert b'"invoice_number":"2"' in (message.value() or b"")


def test_an_empty_key_is_a_bug(away: KafkaTransport) -> None:
    """It would scatter an aggregate over the partitions."""
    with pytest.raises(AssertionError, match="empty key"):
        away.publish([row(1, "", 1)], 1)
