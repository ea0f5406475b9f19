"""Commit a consumer's offsets without waiting for the answer, which comes while the consumer polls.

Whoever waits for it waits for the group: a member that the broker has put out is taken in again only if it polls, and
the client lets nobody poll while a commit in any thread is waited for. So a commit that was under way when a broker
stalled kept its member from polling for good, and its partitions with it.

Invariant: at most one commit is on its way, so an older one never overtakes a newer one. Not promised: that the offsets
are committed. They may stay behind, and what is delivered again for it the inbox knows.
"""

from collections.abc import Iterable, Mapping
from time import sleep
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from shared.clock import monotonic
from shared.errors import ConfigurationError
from shared.kafka import COOPERATIVE
from shared.leaving import leave
from shared.logs import get_logger
from shared.retry import Backoff

COORDINATOR_TIMEOUT_SECONDS: Final = 5.0
COORDINATOR_TRIES: Final = 6
SETTLE_SECONDS: Final = 5.0
GIVEN_UP_SECONDS: Final = 30.0
"""After which an unanswered commit is no longer waited for, and another may be sent."""
AGAIN_SECONDS: Final = 1.0
"""How long to leave the broker alone after a refusal."""

log = get_logger(__name__)


class GroupMember(Consumer):
    """Kafka's client, with the offsets that it has yet to commit.

    Raises ConfigurationError for a group whose partitions all go at once at every change: the consumer gives and takes
    them one by one.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        strategy = config.get("partition.assignment.strategy")
        if config.get("group.protocol", "classic") == "classic" and strategy != COOPERATIVE:
            raise ConfigurationError(
                f"partition.assignment.strategy is {strategy!r}, and a consumer here works with {COOPERATIVE!r} alone: "
                "with an eager one every member stops at every join and leave. Set it so for all members of the group, "
                "or set GROUP_PROTOCOL=consumer, which needs none."
            )
        self.offsets = OffsetCommit(self)
        super().__init__({**config, "on_commit": self.offsets.answered})

    def close(self) -> None:
        """Leave the group, and wait for it no longer than a supervisor does."""
        leave(self)


class OffsetCommit:
    """For one member, called by its one thread; the client calls ``answered`` from inside of ``poll``."""

    def __init__(self, kafka: Consumer) -> None:
        self._kafka = kafka
        self._uncommitted: dict[tuple[str, int], int] = {}
        self._accepted: dict[tuple[str, int], int] = {}
        self._not_before = 0.0
        self._under_way = False

    def remember(self, topic: str, partition: int, offset: int) -> None:
        """Note that everything below this offset is done."""
        self._uncommitted[topic, partition] = offset

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """Commit nothing more for partitions that belong to somebody else."""
        for each in partitions:
            self._uncommitted.pop((each.topic, each.partition), None)
            self._accepted.pop((each.topic, each.partition), None)

    def accepted(self, topic: str, partition: int) -> int:
        """Return the last offset that the broker has accepted; 0 before the first."""
        return self._accepted.get((topic, partition), 0)

    def send(self) -> None:
        """Send what is not committed yet, unless the answer to an earlier commit is still to come."""
        if self._uncommitted and monotonic() >= self._not_before:
            self.send_now()

    def send_now(self) -> None:
        """Send it even so: these partitions are about to be given away."""
        offsets = [TopicPartition(topic, partition, at) for (topic, partition), at in self._uncommitted.items()]
        if not offsets:
            return
        self._not_before = monotonic() + GIVEN_UP_SECONDS
        self._under_way = True
        try:
            self._kafka.commit(offsets=offsets, asynchronous=True)
        except KafkaException as error:
            self.answered(error.args[0], offsets)

    def answered(self, error: KafkaError | None, partitions: Iterable[TopicPartition]) -> None:
        """Take the broker's answer. What it refused stays to be committed: the effects are durable in any case."""
        self._not_before = 0.0
        self._under_way = False
        refusals = []
        for each in partitions:
            refusal = each.error or error
            if refusal is None:
                self._done(each)
            else:
                refusals.append(refusal)
        if refusals:
            self._not_before = monotonic() + AGAIN_SECONDS
            log.warning("offsets not committed", detail=str(refusals[0]))

    def _done(self, committed: TopicPartition) -> None:
        self._accepted[committed.topic, committed.partition] = committed.offset
        known = self._uncommitted.get((committed.topic, committed.partition))
        if known is not None and known <= committed.offset:
            del self._uncommitted[committed.topic, committed.partition]

    def settle(self) -> None:
        """Wait a little, before the member leaves, until everything is committed."""
        self.send()
        give_up = monotonic() + SETTLE_SECONDS
        while self._under_way and monotonic() < give_up:
            self._kafka.poll(0.05)  # what comes with it was not asked for, and nothing notes its offset
            self.send()


def committed_offsets(kafka: Consumer, partitions: list[TopicPartition]) -> list[TopicPartition]:
    """Return where the group stands in these partitions; a negative offset where it has never been.

    A coordinator that is moving, or is reading its offsets again, is asked again. Raises KafkaException in the end.
    """
    backoff = Backoff()
    while True:
        try:
            return _without_errors(kafka.committed(partitions, timeout=COORDINATOR_TIMEOUT_SECONDS))
        except KafkaException as error:
            delay = backoff.next()
            if backoff.failures == COORDINATOR_TRIES:
                raise
            log.warning("the group's offsets are not told yet", detail=str(error))
            sleep(delay)


def _without_errors(partitions: list[TopicPartition]) -> list[TopicPartition]:
    for each in partitions:
        if each.error is not None:
            raise KafkaException(each.error)
    return partitions
