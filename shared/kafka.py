"""How this system talks to Kafka: client settings with the reason for each that is not a default.

Source of the settings' meaning: librdkafka's CONFIGURATION.md. Nothing here creates a client at import, and nobody may
create one before a fork.
"""

import logging
from typing import Any, Final

GROUP_PROTOCOLS: Final = ("consumer", "classic")
"""``consumer`` is the group protocol of KIP-848 (brokers from 4.0 on), ``classic`` the one before it."""

COOPERATIVE: Final = "cooperative-sticky"
"""The one assignor that classic groups may use here: partitions move one by one, and nobody stops meanwhile."""


def producer_config(bootstrap_servers: str, client_id: str) -> dict[str, Any]:
    """Settings of a producer that keeps each partition's order and gives nothing up by itself.

    The caller has a deadline of its own and purges everything when it passes. A finite message time-out would let an
    earlier event expire while a later one of the same aggregate, behind it in the same batch of work, is delivered.
    """
    return {
        "bootstrap.servers": bootstrap_servers,
        "client.id": client_id,
        "acks": "all",
        "enable.idempotence": True,
        # Fails everything behind a message that could not be sent, so that none overtakes it.
        "enable.gapless.guarantee": True,
        "delivery.timeout.ms": 0,
        # The default hash is CRC32, and Java's clients would put the same key on another partition.
        "partitioner": "murmur2_random",
        "compression.type": "lz4",
        # A chunk's messages go out together: its last one is followed by a flush, which ends the lingering. So the wait
        # costs nobody time, and batches are as large as they can be: with 5 ms the broker worked twice as much.
        "linger.ms": 500,
        "queue.buffering.max.messages": 100_000,
        **_common(),
    }


def consumer_config(
    bootstrap_servers: str,
    group: str,
    client_id: str,
    group_protocol: str = "consumer",
    max_poll_interval_seconds: float = 60.0,
) -> dict[str, Any]:
    """Settings of a group member that commits offsets itself, after the database commit."""
    config: dict[str, Any] = {
        "bootstrap.servers": bootstrap_servers,
        "client.id": client_id,
        "group.id": group,
        "group.protocol": group_protocol,
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        # 'earliest' or 'latest' would jump over events in silence when the wanted offset is gone.
        "auto.offset.reset": "error",
        "max.poll.interval.ms": round(max_poll_interval_seconds * 1000),
        # A smaller local queue, topped up at once, instead of a second's pause whenever it is full.
        "queued.min.messages": 5_000,
        "fetch.queue.backoff.ms": 10,
        "fetch.error.backoff.ms": 100,
        **_common(),
    }
    if group_protocol == "classic":
        # With 'consumer' these belong to the broker, and the client refuses them.
        config |= {
            "partition.assignment.strategy": COOPERATIVE,
            "session.timeout.ms": 6_000,
            "heartbeat.interval.ms": 1_000,
        }
    return config


def _common() -> dict[str, Any]:
    return {
        # After an outage the first attempt that can succeed comes within a second, instead of ten.
        "reconnect.backoff.ms": 50,
        "reconnect.backoff.max.ms": 1_000,
        "socket.keepalive.enable": True,
        # The client's own lines come out as ours do, instead of as plain text on standard error.
        "logger": logging.getLogger("librdkafka"),
    }
