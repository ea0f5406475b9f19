"""The limit: the same messages from memory, by the same client with the same settings, and nothing else."""

import os
from collections.abc import Callable
from typing import Any

import psycopg
from confluent_kafka import KafkaError, Message, Producer

from chaos.bench.textbook import headers
from shared.kafka import producer_config
from shared.settings import read_secret

_ROWS = """
SELECT id, aggregate_id, payload, event_id, type, source, dataschema, aggregate_type, aggregate_version, traceparent,
       occurred_at
FROM outbox ORDER BY id
"""


class Reports:
    """A delivery report is awaited for every message, as the relay does."""

    def __init__(self) -> None:
        self.acknowledged = 0

    def take(self, error: KafkaError | None, _message: Message) -> None:
        assert error is None, error
        self.acknowledged += 1


def load() -> list[dict[str, Any]]:
    """Make every message beforehand, so that only producing is timed."""
    address = os.environ["DATABASE_URL"].replace("+psycopg", "", 1)
    with psycopg.connect(address, password=read_secret(os.environ["DATABASE_PASSWORD_FILE"])) as connection:
        return [{"key": row[1], "value": row[2], "headers": headers(row)} for row in connection.execute(_ROWS)]


def produce(producer: Producer, topic: str, messages: list[dict[str, Any]], report: Callable[..., None]) -> None:
    for message in messages:
        while True:
            try:
                producer.produce(topic, on_delivery=report, **message)
                break
            except BufferError:
                producer.poll(0.01)
        producer.poll(0)
    producer.flush()


def main() -> None:
    producer = Producer(producer_config(os.environ["KAFKA_BOOTSTRAP_SERVERS"], "bare"))
    messages, reports, passes = load(), Reports(), int(os.environ.get("BENCH_PASSES", "1"))
    for _ in range(passes):
        produce(producer, os.environ["ORDERS_TOPIC"], messages, reports.take)
    assert reports.acknowledged == len(messages) * passes


if __name__ == "__main__":
    main()
