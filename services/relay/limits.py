"""How large a record each topic takes, as its broker says.

Asked before anything is produced, because a record that is too large is refused together with all the innocent ones of
its batch. Read once and kept; read again before a row is blamed, and whenever the broker refuses a size.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # documented, though not exported by its stub
    AdminClient,
    ConfigResource,
)

_SETTING: Final = "max.message.bytes"
_BROKERS_DEFAULT: Final = 1_048_588
_NOT_TOLD: Final = (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED)


class TopicLimits:
    """The limits of a few topics, in bytes of an uncompressed batch of one record."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._config = config
        self._bytes: dict[str, int] = {}

    def learn(self, topics: Iterable[str], deadline_seconds: float) -> None:
        """Ask the broker. Raises KafkaException when it is away; a topic that it does not know has no limit yet."""
        admin = AdminClient(dict(self._config))
        wanted = [ConfigResource(ConfigResource.Type.TOPIC, topic) for topic in set(topics)]
        answers = admin.describe_configs(wanted, request_timeout=max(0.1, deadline_seconds))
        found = {resource.name: _limit(answer) for resource, answer in answers.items()}
        self._bytes |= {topic: limit for topic, limit in found.items() if limit is not None}

    def known(self) -> bool:
        return bool(self._bytes)

    def of(self, topic: str) -> int:
        return self._bytes.get(topic, _BROKERS_DEFAULT)

    def batch_bytes(self) -> int:
        """Return a size of batch that every topic takes, with room for the batch's own header."""
        return int(min(self._bytes.values(), default=_BROKERS_DEFAULT) * 0.9)

    def record_bytes(self) -> int:
        return max(self._bytes.values(), default=_BROKERS_DEFAULT)


def _limit(answer: Any) -> int | None:
    try:
        return int(answer.result()[_SETTING].value)
    except KafkaException as error:
        if error.args[0].code() in _NOT_TOLD:
            return _BROKERS_DEFAULT  # it may write but not ask; what the broker then refuses is tried again alone
        if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            return None  # somebody else's, perhaps: events of other topics go out meanwhile
        raise
