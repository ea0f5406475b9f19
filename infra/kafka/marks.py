"""End and low marks and committed offsets, as the broker tells them. One request each, on a connection of its own.

Asking through a consumer that is fetching would wait behind its long polls.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

from confluent_kafka import TopicPartition
from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

from infra.kafka.committed import Place, committed
from infra.kafka.topics import admin

TIMEOUT_SECONDS = 5.0


class Marks:
    """Raises KafkaException from every method while the broker is away."""

    def __init__(self, kafka: str) -> None:
        self._kafka = kafka
        self._admin = admin(kafka)

    def partitions(self, topics: Iterable[str]) -> list[Place]:
        known = self._admin.list_topics(timeout=TIMEOUT_SECONDS).topics
        return [(topic, number) for topic in topics for number in sorted(known[topic].partitions)]

    def ends(self, places: Iterable[Place]) -> Mapping[Place, int]:
        return self._offsets(places, OffsetSpec.latest())  # type: ignore[no-untyped-call]

    def lows(self, places: Iterable[Place]) -> Mapping[Place, int]:
        return self._offsets(places, OffsetSpec.earliest())  # type: ignore[no-untyped-call]

    def since(self, places: Iterable[Place], when: datetime) -> Mapping[Place, int]:
        """Where the first message stands that was published at that time or later; the end where there is none."""
        wanted = list(places)
        found = self._offsets(wanted, OffsetSpec.for_timestamp(round(when.timestamp() * 1000)))
        ends = self.ends(wanted)
        return {place: offset if offset >= 0 else ends[place] for place, offset in found.items()}

    def committed(self, group: str, places: Iterable[Place]) -> Mapping[Place, int | None]:
        """Where a group goes on; nothing for a partition on which it has no offset."""
        return committed(self._kafka, group, places, TIMEOUT_SECONDS)

    def _offsets(self, places: Iterable[Place], spec: OffsetSpec) -> Mapping[Place, int]:
        asked = {TopicPartition(topic, number): spec for topic, number in places}
        answers = self._admin.list_offsets(asked, request_timeout=TIMEOUT_SECONDS)
        return {(place.topic, place.partition): answer.result().offset for place, answer in answers.items()}
