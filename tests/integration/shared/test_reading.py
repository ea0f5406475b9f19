"""Reading a log takes as long as there is something to read."""

import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from infra.kafka.reading import take
from tests.conftest import TopicFactory

LONG_SECONDS = 30.0


def test_what_has_come_is_taken_without_waiting_for_more(kafka: str, topic: TopicFactory) -> None:
    """The client's own ``consume`` waits for the whole batch or the whole time: red with it."""
    name = topic(1)
    producer = Producer({"bootstrap.servers": kafka})
    for number in range(3):
        producer.produce(name, str(number))
    producer.flush(20)
    consumer = Consumer({"bootstrap.servers": kafka, "group.id": "nobody"})
    consumer.assign([TopicPartition(name, 0, OFFSET_BEGINNING)])
    begun, taken = time.monotonic(), 0
    while taken < 3:
        taken += len(take(consumer, 500, LONG_SECONDS))
    assert time.monotonic() - begun < LONG_SECONDS / 2
    assert take(consumer, 500, 0.1) == []
    consumer.close()
