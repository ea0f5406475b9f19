"""How far a member is behind on the partitions that it has: in messages, and in seconds.

Read from what the client knows from its fetches anyway, so it costs no request. A member that fetches nothing knows
nothing new: the lag by the broker's own word is what ``once status`` asks for.
"""

from collections.abc import Mapping
from typing import Final

from confluent_kafka import Consumer, KafkaException, TopicPartition
from prometheus_client import Gauge

from shared.clock import monotonic

LOOK_SECONDS: Final = 1.0

MESSAGES = Gauge("consumer_lag_messages", "Messages in this member's partitions that it has yet to receive", ["group"])
SECONDS = Gauge("consumer_lag_seconds", "Age of the last event received while more lie behind it, else 0", ["group"])


class LagGauge:
    """Of one member, called by its one thread."""

    def __init__(self, kafka: Consumer, group: str) -> None:
        self._kafka = kafka
        self._messages = MESSAGES.labels(group)
        self._seconds = SECONDS.labels(group)
        self._next_look = 0.0

    def look(self, starts: Mapping[tuple[str, int], int], age_seconds: float) -> None:
        """Measure, about once a second. ``starts`` says from which offset on each partition was assigned."""
        if monotonic() < self._next_look:
            return
        self._next_look = monotonic() + LOOK_SECONDS
        behind = sum(self._behind(TopicPartition(*place), start) for place, start in starts.items())
        self._messages.set(behind)
        self._seconds.set(age_seconds if behind else 0.0)

    def _behind(self, partition: TopicPartition, start: int) -> int:
        try:
            low, high = self._kafka.get_watermark_offsets(partition, cached=True)
            (reached,) = self._kafka.position([partition])
        except KafkaException:  # taken away in this moment
            return 0
        at = reached.offset if reached.offset >= 0 else start
        return max(0, high - max(at, low)) if high >= 0 else 0
