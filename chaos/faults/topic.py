"""What can be done to a topic that no consumer can make good: the log itself loses something, or its order.

All of these are beyond the promise. They are here so that the damage is known, named and found, not to be survived.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # documented, not in the stub
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
)
from confluent_kafka.cimpl import NewPartitions

from chaos.faults import Quiet, missing
from chaos.history import FaultPhase
from chaos.stage import Stage
from infra.kafka.marks import Marks
from infra.kafka.topics import admin, delete_topics, ensure_topics

ANSWERS_WITHIN_SECONDS = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicFault(Quiet):
    """Something is done to a topic while some of its readers are away."""

    topic: str
    members: tuple[str, ...]
    unread: int = 20
    patience_seconds: float = 20.0

    @contextmanager
    def _members_away(self, stage: Stage) -> Iterator[None]:
        """Stop the members, and wait until enough has been written that they have not read."""
        stage.record(self.name, FaultPhase.INJECT, self.topic, detail="members stop: " + ", ".join(self.members))
        try:
            for member in self.members:
                stage.deployment.stop_process(member)
            before = self._written(stage)
            stage.wait_until(lambda: self._written(stage) >= before + self.unread, self.patience_seconds)
            yield
        finally:
            self._start(stage)

    def _written(self, stage: Stage) -> int:
        return sum(self._ends(stage).values())

    def _ends(self, stage: Stage) -> dict[tuple[str, int], int]:
        marks = Marks(stage.stack.servers.kafka)
        return dict(marks.ends(marks.partitions([stage.in_namespace(self.topic)])))

    def _start(self, stage: Stage) -> None:
        for member in self.members:
            if not stage.runs(member):
                stage.deployment.start_process(member)

    def heal(self, stage: Stage) -> None:
        self._start(stage)
        stage.record(self.name, FaultPhase.HEAL, self.topic, detail="members run; the log stays as it is")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionBeatsConsumer(TopicFault):
    """The log throws away what a consumer that was away too long has not read yet."""

    def inject(self, stage: Stage) -> None:
        with self._members_away(stage):
            ends = self._ends(stage)
            places = [TopicPartition(topic, number, end) for (topic, number), end in ends.items() if end]
            stage.record(self.name, FaultPhase.HIT, self.topic, detail=f"everything in {len(places)} partitions goes")
            client = admin(stage.stack.servers.kafka)  # held until the answers are in: they come through its thread
            for answer in client.delete_records(places).values():
                answer.result(self.patience_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRecreated(TopicFault):
    """Somebody deletes the topic and makes it again under the same name."""

    def inject(self, stage: Stage) -> None:
        name, kafka = stage.in_namespace(self.topic), stage.stack.servers.kafka
        with self._members_away(stage):
            stage.record(self.name, FaultPhase.HIT, self.topic, detail="deleted and made again")
            delete_topics(kafka, [name])
            ensure_topics(kafka, [name])


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionsAdded(Quiet):
    """Give the topic more partitions while it is written to, and restart a relay, which then sees them."""

    topic: str
    partitions: int
    restarts: tuple[str, ...]

    def inject(self, stage: Stage) -> None:
        name = stage.in_namespace(self.topic)
        stage.record(self.name, FaultPhase.INJECT, self.topic)
        stage.record(self.name, FaultPhase.HIT, self.topic, detail=f"{self.partitions} partitions from now on")
        client: AdminClient = admin(stage.stack.servers.kafka)
        client.create_partitions([NewPartitions(name, self.partitions)])[name].result(ANSWERS_WITHIN_SECONDS)
        stage.wait_until(lambda: self._known(client, name) == self.partitions, 10.0)
        for relay in self.restarts:
            stage.deployment.stop_process(relay)
            stage.deployment.start_process(relay)

    def _known(self, client: AdminClient, name: str) -> int:
        try:
            return len(client.list_topics(name, timeout=5).topics[name].partitions)
        except KafkaException:
            return 0

    def probe(self, stage: Stage) -> str | None:
        return missing(stage, self.restarts)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicTakesLess(Quiet):
    """The topic takes smaller messages than before: an event that was fine when it was written cannot be published."""

    topic: str
    limit_bytes: int
    database: str
    patience_seconds: float = 30.0

    def inject(self, stage: Stage) -> None:
        stage.record(self.name, FaultPhase.INJECT, self.topic, detail=f"max.message.bytes={self.limit_bytes}")
        self._limit(stage, str(self.limit_bytes))
        if stage.wait_until(lambda: self._parked(stage), self.patience_seconds):
            stage.record(self.name, FaultPhase.HIT, self.topic, detail=f"{self._parked(stage)} events set aside")

    def heal(self, stage: Stage) -> None:
        self._limit(stage, None)
        stage.record(
            self.name, FaultPhase.HEAL, self.topic, detail="takes what it took; what was set aside stays aside"
        )

    def _limit(self, stage: Stage, value: str | None) -> None:
        operation = AlterConfigOpType.SET if value else AlterConfigOpType.DELETE
        entry = ConfigEntry("max.message.bytes", value, incremental_operation=operation)
        resource = ConfigResource(
            ConfigResource.Type.TOPIC, stage.in_namespace(self.topic), incremental_configs=[entry]
        )
        client = admin(stage.stack.servers.kafka)
        for answer in client.incremental_alter_configs([resource]).values():
            answer.result(ANSWERS_WITHIN_SECONDS)

    def _parked(self, stage: Stage) -> int:
        with stage.database(self.database) as connection:
            row = connection.execute("SELECT count(*) FROM outbox_parked").fetchone()
            return int(row[0]) if row else 0
