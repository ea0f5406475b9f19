"""A consumer group, as whoever moves its offsets needs it: members that stop and start, and the offsets themselves.

Invariant: offsets are moved only while the broker knows of no member, and members that ran are started again whatever
happens in between. Killed in between, this leaves members stopped and offsets at one of the two places: `once up` goes
on from there, and the inbox makes either right.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from gettext import gettext as _
from typing import Final

from confluent_kafka import (
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ConsumerGroupDescription  # type: ignore[attr-defined]

from infra.kafka.committed import Place
from infra.kafka.marks import Marks
from infra.kafka.topics import admin
from infra.local.deployment import Deployment
from infra.local.errors import StackError
from infra.local.server import Report
from infra.local.services import GROUPS, in_namespace

EMPTY_WITHIN_SECONDS: Final = 60.0
"""A member that died without a word stays in its group until the broker's session timeout, which is 45 s by default."""

_TIMEOUT_SECONDS: Final = 10.0
_EMPTY: Final = (ConsumerGroupState.EMPTY, ConsumerGroupState.DEAD)


class OffsetsRefusedError(StackError):
    """The broker did not change the offsets of a group, and says why."""


@dataclass(frozen=True, slots=True)
class Group:
    """One of the system's groups by its plain name (``billing``), in one deployment."""

    deployment: Deployment
    kafka: str
    service: str

    @property
    def name(self) -> str:
        """Return the group's name at the broker, which is the consumer's in the inbox."""
        return in_namespace(self.service, self.deployment.namespace)

    @property
    def topics(self) -> tuple[str, ...]:
        return tuple(in_namespace(topic, self.deployment.namespace) for topic in GROUPS[self.service].topics)

    @property
    def members(self) -> tuple[str, ...]:
        programs = self.deployment.programs.values()
        return tuple(program.name for program in programs if program.group == self.service)

    def places(self) -> list[Place]:
        return Marks(self.kafka).partitions(self.topics)

    def committed(self) -> dict[Place, int]:
        """Return where the group goes on; without the partitions on which it has no offset."""
        found = Marks(self.kafka).committed(self.name, self.places())
        return {place: offset for place, offset in found.items() if offset is not None}

    def ends(self) -> dict[Place, int]:
        """Return where the log of each partition ends now."""
        return dict(Marks(self.kafka).ends(self.places()))

    @contextmanager
    def stopped(self, report: Report) -> Iterator[None]:
        """Keep the group without members. Those that ran, or tried to, are started again at the end in any case."""
        wanted = self._wanted()
        try:
            if wanted:
                report(_("Stopping {members}").format(members=", ".join(wanted)))
            for member in wanted:
                self.deployment.stop_process(member)
            self._wait_until_empty()
            yield
        finally:
            if wanted:
                report(_("Starting {members}").format(members=", ".join(wanted)))
            for member in wanted:
                self.deployment.start_process(member)

    def move(self, offsets: Mapping[Place, int]) -> None:
        """Set where the group goes on. Raises OffsetsRefusedError, with nothing promised about single partitions."""
        wanted = [TopicPartition(topic, partition, offset) for (topic, partition), offset in offsets.items()]
        asked = [ConsumerGroupTopicPartitions(self.name, wanted)]
        client = admin(self.kafka)
        try:
            answer = client.alter_consumer_group_offsets(asked, request_timeout=_TIMEOUT_SECONDS)[self.name].result()
        except KafkaException as error:
            raise OffsetsRefusedError(self._refused(error.args[0].str())) from error
        for place in answer.topic_partitions:
            if place.error is not None:
                raise OffsetsRefusedError(self._refused(f"{place.topic}[{place.partition}]: {place.error.str()}"))

    def forget(self) -> None:
        """Delete the group with its offsets, as a broker does to one that was away for a week."""
        client = admin(self.kafka)
        error = client.delete_consumer_groups([self.name], request_timeout=_TIMEOUT_SECONDS)[self.name].exception()
        if isinstance(error, KafkaException):
            raise OffsetsRefusedError(self._refused(error.args[0].str()))

    def _wanted(self) -> list[str]:
        """Return the members that are there, or would be if they could; one that a person stopped stays so."""
        states = {process.name: process.state for process in self.deployment.processes()}
        return [member for member in self.members if states.get(member, "STOPPED") != "STOPPED"]

    def _wait_until_empty(self) -> None:
        client, end = admin(self.kafka), time.monotonic() + EMPTY_WITHIN_SECONDS
        while (found := self._described(client)).state not in _EMPTY:
            if time.monotonic() > end:
                members = ", ".join(sorted(f"{member.client_id} ({member.host})" for member in found.members))
                raise StackError(
                    _(
                        "The group {group} still has members that this stack did not start, or that died and are not "
                        "given up yet: {members}. End them, or try again in a minute. Nothing was changed."
                    ).format(group=self.name, members=members)
                )
            time.sleep(0.2)

    def _described(self, client: AdminClient) -> ConsumerGroupDescription:
        described: ConsumerGroupDescription = client.describe_consumer_groups(
            [self.name], request_timeout=_TIMEOUT_SECONDS
        )[self.name].result()
        return described

    def _refused(self, why: str) -> str:
        return _(
            "Kafka refused to move the offsets of group {group}: {why}. Its members go on where they were, or from "
            "where offsets had been moved to; both are safe. Try again when nothing else consumes as this group."
        ).format(group=self.name, why=why)
