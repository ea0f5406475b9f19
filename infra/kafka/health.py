"""Whether Kafka has all its copies: who is away, what has too few copies in step, what nobody leads.

Read from one answer of any broker. A broker that is away is known only by the copies that it should have.
"""

from dataclasses import dataclass
from gettext import gettext as _

from confluent_kafka.admin import ClusterMetadata  # type: ignore[attr-defined]

from infra.kafka.topics import admin

_TIMEOUT_SECONDS = 5
_NAMED = 3
"""How many partitions are named; the rest are counted."""


@dataclass(frozen=True, slots=True)
class Health:
    """``lost``: brokers that should have copies and are not there. Partitions are named ``topic/number``."""

    brokers: tuple[int, ...]
    lost: tuple[int, ...]
    under_replicated: tuple[str, ...]
    leaderless: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        return not (self.lost or self.under_replicated or self.leaderless)


def health(bootstrap: str) -> Health:
    """Ask a broker. Raises KafkaException when none answers."""
    return judge(admin(bootstrap).list_topics(timeout=_TIMEOUT_SECONDS))


def judge(told: ClusterMetadata) -> Health:
    partitions = {
        f"{topic.topic}/{number}": partition
        for topic in told.topics.values()
        for number, partition in topic.partitions.items()
    }
    wanted = {broker for partition in partitions.values() for broker in partition.replicas}
    return Health(
        brokers=tuple(sorted(told.brokers)),
        lost=tuple(sorted(wanted - told.brokers.keys())),
        under_replicated=tuple(
            name for name, partition in partitions.items() if len(partition.isrs) < len(partition.replicas)
        ),
        leaderless=tuple(name for name, partition in partitions.items() if partition.leader < 0),
    )


def complaints(found: Health) -> list[str]:
    """Say what is wrong, in sentences that name brokers and partitions."""
    said = [_("Broker {broker} is away, and with it its copies.").format(broker=broker) for broker in found.lost]
    if found.under_replicated:
        words = _("{count} partitions have too few copies in step: {names}.")
        said.append(words.format(count=len(found.under_replicated), names=_some(found.under_replicated)))
    if found.leaderless:
        words = _("{count} partitions have no leader and can be neither written nor read: {names}.")
        said.append(words.format(count=len(found.leaderless), names=_some(found.leaderless)))
    return said


def lacking(told: ClusterMetadata, broker: int) -> str | None:
    """Say what a broker still lacks until another may go; nothing for one whose copies are all in step."""
    if broker not in told.brokers:
        return _("broker {broker} is not in the cluster yet").format(broker=broker)
    behind = [
        f"{topic.topic}/{number}"
        for topic in told.topics.values()
        for number, partition in topic.partitions.items()
        if broker in partition.replicas and broker not in partition.isrs
    ]
    return _("broker {broker} is behind in {names}").format(broker=broker, names=_some(behind)) if behind else None


def _some(names: "tuple[str, ...] | list[str]") -> str:
    rest = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (_(" and {count} more").format(count=rest) if rest > 0 else "")
