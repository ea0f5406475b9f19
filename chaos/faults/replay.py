"""A consumer group is sent back to the start of its topics: everything that it has ever seen comes again.

Its offsets are set to 0, or deleted with the group, as a broker does to a group that was away for a week.

Offsets of a running group cannot be altered, so its members stop first; members that died without a word stay in the
group until the broker's session timeout, and the broker refuses until then.
"""

from dataclasses import dataclass

from confluent_kafka import ConsumerGroupState, ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from chaos.faults import Quiet, missing
from chaos.history import FaultPhase
from chaos.marks import Marks
from chaos.stage import Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay(Quiet):
    """Stop the members, set every offset of the group to 0 (or delete the group), start the members."""

    group: str
    topics: tuple[str, ...]
    members: tuple[str, ...]
    rounds: int = 1
    pause_seconds: float = 3.0
    patience_seconds: float = 20.0
    deletes: bool = False

    def inject(self, stage: Stage) -> None:
        for number in range(self.rounds):
            if number:
                stage.wait(self.pause_seconds)
            self._replay(stage)

    def _replay(self, stage: Stage) -> None:
        group = stage.in_namespace(self.group)
        admin = AdminClient({"bootstrap.servers": stage.stack.servers.kafka, "log_level": 0})
        stage.record(self.name, FaultPhase.INJECT, self.group, detail="members stop: " + ", ".join(self.members))
        reached = 0
        try:
            for member in self.members:
                stage.deployment.stop_process(member)
            stage.wait_until(lambda: _is_empty(admin, group), self.patience_seconds)
            partitions = self._partitions(stage, admin)
            reached = _position(stage, group, partitions)
            detail = f"offsets of {len(partitions)} partitions {'deleted' if self.deletes else 'back to 0'}"
            stage.record(self.name, FaultPhase.HIT, self.group, detail=detail)
            turn_back = _deleted if self.deletes else _altered
            stage.wait_until(lambda: turn_back(admin, group, partitions), self.patience_seconds)
        finally:
            self._start(stage)
        # Bitten means read again: until the group stands where it stood.
        stage.wait_until(lambda: _position(stage, group, partitions) >= reached, self.patience_seconds)

    def _partitions(self, stage: Stage, admin: AdminClient) -> list[TopicPartition]:
        known = admin.list_topics(timeout=10.0).topics
        names = [stage.in_namespace(topic) for topic in self.topics]
        return [TopicPartition(name, number, 0) for name in names for number in known[name].partitions]

    def heal(self, stage: Stage) -> None:
        self._start(stage)
        stage.record(self.name, FaultPhase.HEAL, self.group, detail="members run")

    def probe(self, stage: Stage) -> str | None:
        return missing(stage, self.members)

    def _start(self, stage: Stage) -> None:
        for member in self.members:
            if not stage.runs(member):
                stage.deployment.start_process(member)


def _position(stage: Stage, group: str, partitions: list[TopicPartition]) -> int:
    """How far the group has read, summed over the partitions."""
    places = [(partition.topic, partition.partition) for partition in partitions]
    committed = Marks(stage.stack.servers.kafka).committed(group, places)
    return sum(offset or 0 for offset in committed.values())


def _is_empty(admin: AdminClient, group: str) -> bool:
    described = admin.describe_consumer_groups([group], request_timeout=5.0)[group].result()
    return bool(described.state is ConsumerGroupState.EMPTY)


def _altered(admin: AdminClient, group: str, partitions: list[TopicPartition]) -> bool:
    try:
        answer = admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, partitions)])[group].result()
    except KafkaException:
        return False  # somebody is still a member for the broker; asked again until the patience is over
    return all(partition.error is None for partition in answer.topic_partitions)


def _deleted(admin: AdminClient, group: str, _partitions: list[TopicPartition]) -> bool:
    return admin.delete_consumer_groups([group])[group].exception() is None
