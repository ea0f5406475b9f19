"""Where a group goes on, asked by a client that joins no group.

The admin client has a request for it, and it is not used: when a group's coordinator goes away in the middle of such a
request, librdkafka 2.16 ends the whole process (assertion ``eonce->refcnt > 0`` in its ``rdkafka_queue.h``).
"""

from collections.abc import Iterable, Mapping

from confluent_kafka import Consumer, TopicPartition

Place = tuple[str, int]


def committed(
    bootstrap: str, group: str, places: Iterable[Place], timeout_seconds: float
) -> Mapping[Place, int | None]:
    """Return the offsets of a group; None for a partition on which it has none.

    Raises KafkaException when the group's coordinator does not answer in time.
    """
    reader = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False, "log_level": 0})
    try:
        found = reader.committed([TopicPartition(*place) for place in places], timeout=timeout_seconds)
    finally:
        reader.close()
    return {(each.topic, each.partition): each.offset if each.offset >= 0 else None for each in found}
