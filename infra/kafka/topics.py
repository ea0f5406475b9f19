"""Create the topics, explicitly and once: ``python -m infra.kafka.topics``.

Invariant: a topic has the number of partitions it was designed with. More partitions would send an aggregate's later
events to another one and break their order, so a topic that differs stops the step instead of being changed.

Reads ``KAFKA_BOOTSTRAP_SERVERS``, ``ORDERS_TOPIC``, ``BILLING_TOPIC``, ``DEAD_LETTER_TOPIC``, ``TOPIC_PARTITIONS``
(12), ``TOPIC_REPLICATION`` (1) and ``TOPIC_MIN_INSYNC_REPLICAS`` (1).
"""

import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from shared.errors import ConfigurationError, OnceError
from shared.settings import read, setting

PARTITIONS = 12
OTHER_PARTITIONS: Mapping[str, int] = {}
"""Topics with another number, by name. How a system comes to one: docs/how-to/change-lanes-or-partitions.md."""
_TIMEOUT_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Settings:
    kafka_bootstrap_servers: str = setting(help="host:port of a broker, several with commas")
    orders_topic: str = setting("orders.events", help="topic with the orders' events")
    billing_topic: str = setting("billing.events", help="topic with billing's events")
    dead_letter_topic: str = setting("dead.letters", help="topic with notices of what consumers have parked")
    topic_partitions: int = setting(PARTITIONS, help="partitions of each topic", minimum=1)
    topic_replication: int = setting(1, help="copies of each partition", minimum=1)
    topic_min_insync_replicas: int = setting(1, help="copies that must have a message to count", minimum=1)


def ensure_topics(
    bootstrap: str,
    names: Iterable[str],
    partitions: int = PARTITIONS,
    replication: int = 1,
    min_insync: int = 1,
    **more: str,
) -> None:
    """Create the topics that are missing and check the others; ``more`` are settings of a topic, with underscores.

    Raises ConfigurationError for one that differs.
    """
    client = admin(bootstrap)
    options = {
        # Everything is kept: a read model can be rebuilt from the first event on.
        "retention.ms": "-1",
        "min.insync.replicas": str(min_insync),
        # A producer's clock that is an hour ahead would have its messages refused.
        "message.timestamp.type": "LogAppendTime",
        **{name.replace("_", "."): value for name, value in more.items()},
    }
    wanted = [NewTopic(name, partitions_of(name, partitions), replication, config=options) for name in names]
    for name, answer in client.create_topics(wanted, request_timeout=_TIMEOUT_SECONDS).items():
        _accept_existing(name, answer)
    for topic in wanted:
        _wait(partial(_has_partitions, client, topic.topic, topic.num_partitions), f"topic {topic.topic}")


def partitions_of(name: str, partitions: int = PARTITIONS) -> int:
    """Return how many partitions a topic has to have; a run's topic, ``RUN.NAME``, as many as its model."""
    models = (number for model, number in OTHER_PARTITIONS.items() if f".{name}".endswith(f".{model}"))
    return next(models, partitions)


def delete_topics(bootstrap: str, names: Iterable[str]) -> None:
    """Delete topics and wait until they are gone; unknown ones are passed over."""
    client, doomed = admin(bootstrap), list(names)
    if not doomed:
        return
    for answer in client.delete_topics(doomed, request_timeout=_TIMEOUT_SECONDS).values():
        try:
            answer.result()
        except KafkaException as error:
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise
    _wait(lambda: not set(doomed) & set(client.list_topics(timeout=5).topics), "the end of the topics")


def admin(bootstrap: str) -> AdminClient:
    # Silent: what goes wrong comes back as a result, and the client would write it to the terminal besides.
    return AdminClient({"bootstrap.servers": bootstrap, "socket.timeout.ms": 10_000, "log_level": 0})


def _accept_existing(name: str, answer: "object") -> None:
    try:
        answer.result()  # type: ignore[attr-defined]  # a future, which the library does not name
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise ConfigurationError(
                f"The topic {name} could not be created: {error.args[0].str()}. Check the broker and try again."
            ) from error


def _has_partitions(client: AdminClient, name: str, partitions: int) -> bool:
    topic = client.list_topics(name, timeout=5).topics[name]
    if topic.error is not None or not topic.partitions:
        return False
    if len(topic.partitions) != partitions:
        raise ConfigurationError(
            f"The topic {name} has {len(topic.partitions)} partitions instead of {partitions}. An event's partition "
            "follows from that number, so it is never changed: move to a new topic as "
            "docs/how-to/change-lanes-or-partitions.md says, or name this one in OTHER_PARTITIONS of "
            "infra/kafka/topics.py."
        )
    return all(each.leader >= 0 for each in topic.partitions.values())


def _wait(done: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + _TIMEOUT_SECONDS
    while not done():
        if time.monotonic() > end:
            raise OnceError(f"Kafka did not show {what} within {_TIMEOUT_SECONDS} s. Look at its log and try again.")
        time.sleep(0.05)


def main(environ: Mapping[str, str]) -> None:
    settings = read(Settings, environ)
    names = (settings.orders_topic, settings.billing_topic, settings.dead_letter_topic)
    ensure_topics(
        settings.kafka_bootstrap_servers,
        names,
        settings.topic_partitions,
        settings.topic_replication,
        settings.topic_min_insync_replicas,
    )
    made = ", ".join(f"{name}: {partitions_of(name, settings.topic_partitions)} partitions" for name in names)
    print(made, flush=True)  # noqa: T201  # a one-shot


if __name__ == "__main__":
    try:
        main(os.environ)
    except OnceError as error:
        sys.exit(str(error))
