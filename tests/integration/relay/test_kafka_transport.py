"""Events on their way to a real Kafka: order, key, headers, bytes, and a broker that is away."""

import os
import time
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from confluent_kafka import (
    OFFSET_BEGINNING,
    TIMESTAMP_LOG_APPEND_TIME,
    Consumer,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from services.relay.failures import Fault
from services.relay.limits import TopicLimits
from services.relay.position import Row
from services.relay.transports import KafkaTransport, Published
from shared import envelope
from shared.events import OrderConfirmed
from shared.kafka import producer_config
from shared.outbox import new_event
from tests.conftest import TopicFactory, eventually


def row(number: int, aggregate_id: str, version: int) -> Row:
    payload = OrderConfirmed(order_id=aggregate_id, invoice_number=str(number))
    event = new_event("order", aggregate_id, version, payload, source="/orders")
    now = datetime.now(UTC)
    return Row(
        number, str(event.event_id), "order", aggregate_id, version, event.type, event.source, event.dataschema,
        event.payload, None, now.isoformat(timespec="microseconds").replace("+00:00", "Z"),
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


def set_option(bootstrap: str, topic: str, name: str, value: str) -> None:
    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for answer in admin.incremental_alter_configs([resource]).values():
        answer.result(10)


def set_limit(bootstrap: str, topic: str, max_bytes: int) -> None:
    set_option(bootstrap, topic, "max.message.bytes", str(max_bytes))

    def told() -> bool:
        limits = TopicLimits({"bootstrap.servers": bootstrap})
        limits.learn([topic], 5)
        return limits.of(topic) == max_bytes

    eventually(told, 10, "the broker tells the new limit")


@pytest.fixture
def transport(kafka: str, topic: TopicFactory) -> Iterator[KafkaTransport]:
    transport = KafkaTransport(producer_config(kafka, "test"), {"order": topic()})
    yield transport
    transport.close()


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
    assert (str(event.event_id), event.payload) == (sent.event_id, sent.payload)
    assert event.occurred_at == datetime.fromisoformat(sent.occurred_at)


def test_a_broker_that_is_away_is_a_result(away: KafkaTransport) -> None:
    """Nothing is counted, nothing is raised, and the deadline holds."""
    published = away.publish([row(1, "order-1", 1)], deadline_seconds=0.3)
    assert published.count == 0
    assert published.fault is Fault.RECEIVER
    assert "Timed out" in (published.error or "")


def test_after_a_failure_the_next_attempt_begins_afresh(kafka: str, topic: TopicFactory) -> None:
    """Nothing that was given up is sent later, behind the back of the next attempt."""
    name = topic()
    transport = KafkaTransport(producer_config(kafka, "test"), {"order": name})
    rows = [row(n, "order-1", n) for n in range(1, 4)]
    assert transport.publish(rows[:1], 20) == Published(1)
    transport.close()
    transport._config |= {"bootstrap.servers": "127.0.0.1:9"}
    assert transport.publish(rows[1:], deadline_seconds=0.2) == Published(0, "no report within 0.2 s")
    transport._config |= {"bootstrap.servers": kafka}
    assert transport.publish(rows[2:], 20) == Published(1)
    first, third = read_all(kafka, name, 2)
    assert b'"invoice_number":"3"' in (third.value() or b"")
    assert b'"invoice_number":"1"' in (first.value() or b"")
    transport.close()


def test_an_empty_key_is_the_rows_fault(transport: KafkaTransport) -> None:
    """It would scatter an aggregate over the partitions."""
    published = transport.publish([row(1, "order-1", 1), row(2, "", 1), row(3, "order-1", 2)], 20)
    assert (published.count, published.fault) == (1, Fault.ROW)
    assert "no aggregate id" in (published.error or "")


def test_one_oversized_row_takes_no_innocent_one_along(transport: KafkaTransport) -> None:
    """It is found before anything is sent: what stands before it goes, and nothing behind it."""
    rows = [row(n, f"order-{n}", 1) for n in range(1, 201)]
    rows[150] = rows[150]._replace(payload=os.urandom(1_100_000))
    published = transport.publish(rows, 20)
    assert (published.count, published.fault) == (150, Fault.ROW)
    assert "more than" in (published.error or "")
    assert transport.publish(rows[151:], 20) == Published(49)


def test_a_type_without_a_topic_is_the_rows_fault(transport: KafkaTransport) -> None:
    """No waiting gives it one."""
    published = transport.publish([row(1, "order-1", 1)._replace(aggregate_type="letter")], 20)
    assert (published.count, published.fault) == (0, Fault.ROW)
    assert "'letter'" in (published.error or "")


def test_batches_keep_to_a_topics_own_limit(kafka: str, topic: TopicFactory) -> None:
    """A topic may take less than the broker's default, and many small rows together are more than that."""
    name = topic()
    set_limit(kafka, name, 5_000)
    small = KafkaTransport(producer_config(kafka, "test") | {"linger.ms": 50}, {"order": name})
    rows = [row(n, "order-1", n)._replace(payload=os.urandom(1_000)) for n in range(1, 101)]
    assert small.publish(rows, 20) == Published(100)
    small.close()


def test_a_limit_that_was_lowered_is_found_out_alone(kafka: str, topic: TopicFactory) -> None:
    """The broker refuses a whole batch; that makes its rows suspects, and only the one sent alone is to blame."""
    name = topic()
    lowered = KafkaTransport(producer_config(kafka, "test"), {"order": name})
    assert lowered.publish([row(1, "order-1", 1)], 20) == Published(1)
    set_limit(kafka, name, 5_000)
    rows = [row(2, "order-1", 2), row(3, "order-1", 3)._replace(payload=os.urandom(20_000)), row(4, "order-1", 4)]
    together = lowered.publish(rows, 20)
    assert together.fault is Fault.SUSPECTS
    for suspect in rows[together.count : 1]:
        assert lowered.publish([suspect], 20) == Published(1)
    alone = lowered.publish([rows[1]], 20)
    assert (alone.count, alone.fault) == (0, Fault.REFUSED)
    lowered.close()


def test_a_producer_whose_clock_is_wrong_is_heard(kafka: str, topic: TopicFactory) -> None:
    """Our topics go by the broker's clock, so the stamp of a message is no reason to refuse it."""
    name, tomorrow = topic(), int((time.time() + 86_400) * 1000)
    producer, reports = Producer({"bootstrap.servers": kafka}), []
    producer.produce(
        name, b"-", timestamp=tomorrow, on_delivery=lambda error, message: reports.append((error, message))
    )
    assert producer.flush(20) == 0
    ((error, _message),) = reports
    assert error is None
    (found,) = read_all(kafka, name, 1)
    kind, stamp = found.timestamp()
    assert kind == TIMESTAMP_LOG_APPEND_TIME
    assert stamp < tomorrow - 3_600_000


def test_a_wrong_clock_is_not_the_rows_fault(kafka: str, topic: TopicFactory) -> None:
    """Where a topic goes by the producer's clock, a relay whose clock is off waits.

    Of several records the broker says that it finds them invalid: they are suspects, and each is cleared when alone.
    """
    name = topic()
    transport = KafkaTransport(producer_config(kafka, "test"), {"order": name})
    assert transport.publish([row(1, "order-1", 1)], 20) == Published(1)
    set_option(kafka, name, "message.timestamp.type", "CreateTime")
    set_option(kafka, name, "message.timestamp.after.max.ms", "0")
    set_option(kafka, name, "message.timestamp.before.max.ms", "0")

    def refused() -> Published | None:
        published = transport.publish([row(2, "order-1", 2)], 20)
        return published if published.error else None

    published = eventually(refused, 20, "a broker that finds the stamps wrong")
    assert published.fault is Fault.RECEIVER
    assert "Invalid timestamp" in (published.error or "")
    together = transport.publish([row(n, "order-1", n) for n in range(3, 6)], 20)
    assert together.fault in (Fault.RECEIVER, Fault.SUSPECTS)
    transport.close()
