"""Whoever publishes, polling, Celery or Debezium: the message is the same."""

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from confluent_kafka import Message

from infra.cdc import slot
from infra.cdc.connect import connectors
from infra.kafka.topics import ensure_topics
from infra.local.deployment import Deployment
from infra.local.services import connect
from infra.local.stack import LocalStack
from services.relay import wiring, worker
from services.relay.settings import Settings
from tests.conftest import TopicFactory, eventually
from tests.integration.engines.rows import add_all
from tests.integration.relay.test_kafka_transport import read_all

Seen = set[tuple[object, ...]]


def seen(messages: list[Message]) -> Seen:
    """Reduce messages to what is promised. A header without a value counts as absent, as readers take it."""
    return {
        (
            message.key(),
            message.value(),
            message.partition(),
            frozenset((name, value) for name, value in message.headers() or () if value is not None),
        )
        for message in messages
    }


Topics = tuple[str, str]
"""For events, and for notices."""


def settings(deployment: Deployment, kafka: str, topics: Topics) -> Settings:
    return Settings(
        instance="relay-1",
        database_url=deployment.superuser_url("orders"),
        kafka_bootstrap_servers=kafka,
        orders_topic=topics[0],
        dead_letter_topic=topics[1],
    )


def by_polling(deployment: Deployment, kafka: str, topics: Topics) -> None:
    relays = wiring.build(settings(deployment, kafka, topics)).relays
    assert relays["event"].drain_once()


def by_celery(deployment: Deployment, kafka: str, topics: Topics) -> None:
    chosen = settings(deployment, kafka, topics)
    assert worker.drain(chosen, wiring.make_transports(chosen))


def start_over(database: psycopg.Connection) -> None:
    database.execute("UPDATE relay_position SET done = '1:1:', floor_id = 0, epoch = epoch + 1")


@pytest.mark.timeout(120)
def test_the_three_engines_publish_the_same_messages(
    deployment: Deployment,
    stack: LocalStack,
    kafka: str,
    topic: TopicFactory,
    outbox: psycopg.Connection,
    logical: None,
    connect_jars: None,
    tmp_path: Path,
) -> None:
    """Key, bytes, partition, and headers as a set, for every row; commands stay out of the log.

    Notices of parked deliveries are in a topic of their own, and not among the orders.
    """
    url, name = deployment.superuser_url("orders"), deployment.slot("orders")
    slot.make(url, name)
    count = add_all(outbox)
    polled, ticked, read = ((topic(), topic()) for _ in range(3))
    by_polling(deployment, kafka, polled)
    start_over(outbox)
    by_celery(deployment, kafka, ticked)
    ensure_topics(kafka, [deployment.heartbeat_topic("orders")], partitions=1)
    deployment.programs[connect().name] = connect()
    environment = {**os.environ, **deployment.environment("connect"), "CDC_SOURCES": "orders"}
    environment |= {"ORDERS_TOPIC": read[0], "DEAD_LETTER_TOPIC": read[1]}
    log = (tmp_path / "connect.log").open("wb")
    debezium = subprocess.Popen(
        [sys.executable, "-m", "infra.cdc"], env=environment, cwd=tmp_path, stdout=log, stderr=log
    )
    try:
        address = f"127.0.0.1:{environment['HTTP_PORT']}"
        eventually(lambda: connectors(address)[0].state == "RUNNING", 60, "Debezium runs")
        by_debezium = seen(read_all(kafka, read[0], count)), seen(read_all(kafka, read[1], 1))
    finally:
        debezium.terminate()
        debezium.wait(30)
    assert [len(each) for each in by_debezium] == [count, 1]
    for events, notices in (polled, ticked):
        assert (seen(read_all(kafka, events, count)), seen(read_all(kafka, notices, 1))) == by_debezium
