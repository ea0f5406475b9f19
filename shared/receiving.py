"""Receive messages from the log, and read them as events.

Invariant: a message that was received is never dropped: it becomes a delivery, or an ``Unreadable`` with its bytes.
What the client reports instead of a message is waited out, or ends the process with words.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple, cast

from confluent_kafka import Consumer as KafkaConsumer
from confluent_kafka import KafkaError, KafkaException, Message

from shared import envelope
from shared.errors import PermanentError, RefusedError
from shared.group_metadata import UNKNOWN_GENERATION, generation_of
from shared.inbox import Delivery
from shared.logs import get_logger
from shared.parking import Headers

IDLE_POLL_SECONDS: Final = 0.5

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A message whose envelope cannot be read. It has no id that could be trusted: it is known by where it stands."""

    topic: str
    partition: int
    offset: int
    member: str
    generation: int
    key: bytes | None
    headers: Headers
    value: bytes | None
    error: str


Received = Delivery | Unreadable


class Place(NamedTuple):
    """Where a message stands in the log, and who received it."""

    topic: str
    partition: int
    offset: int
    member: str
    generation: int


def read(place: Place, key: bytes | None, headers: Headers, value: bytes | None) -> Received:
    """Make an event of a message, the same whether it comes from the log or out of a parking lot."""
    try:
        return Delivery(envelope.from_message(headers, value), *place, key, headers)
    except PermanentError as error:
        return Unreadable(*place, key, headers, value, str(error))


class Receiver:
    """The messages of one member of a consumer group."""

    def __init__(self, kafka: KafkaConsumer, group: str) -> None:
        self._kafka = kafka
        self._group = group

    def receive(self, most: int, wait_seconds: float = IDLE_POLL_SECONDS) -> list[Received]:
        """Return up to so many messages, in log order within each partition; none when none came in time.

        Raises RefusedError when the log no longer has what comes next.
        """
        # The first message is waited for, the others are taken as they are there: latency when little comes, batches
        # when much does.
        first = self._kafka.poll(wait_seconds)
        if first is None:
            return []
        return self._read([first, *self._kafka.consume(most - 1, 0)] if most > 1 else [first])

    def generation(self) -> int:
        try:
            return generation_of(self._kafka.consumer_group_metadata())
        except RuntimeError:  # what the client says of a group that it has left or not yet joined
            return UNKNOWN_GENERATION

    def member(self) -> str:
        return self._kafka.memberid() or ""

    def _read(self, messages: Iterable[Message]) -> list[Received]:
        member, generation = self.member(), self.generation()
        received = []
        for message in messages:
            error = message.error()
            if error is None:
                received.append(_read_message(message, member, generation))
            else:
                self._judge(error, message)
        return received

    def _judge(self, error: KafkaError, message: Message) -> None:
        """Decide what an error event means for the loop: wait, or stop with words."""
        if error.code() == KafkaError._AUTO_OFFSET_RESET:
            raise RefusedError(
                f"The log no longer has offset {message.offset()} of {message.topic()}[{message.partition()}], where "
                f"group {self._group} has to go on ({error.str()}). Going on elsewhere would skip events. Send the "
                "missing stretch again from the outbox, set the group's offset by hand, and start this consumer again."
            )
        if error.fatal():
            raise KafkaException(error)
        # Broker away, topic not there yet, coordinator moving: the client keeps trying by itself.
        log.warning("kafka reports trouble", group=self._group, code=error.name(), detail=error.str())


def _read_message(message: Message, member: str, generation: int) -> Received:
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None
    assert partition is not None
    assert offset is not None
    key, value = message.key(), message.value()
    assert not isinstance(key, str)
    assert not isinstance(value, str)
    return read(Place(topic, partition, offset, member, generation), key, headers_of(message), value)


def headers_of(message: Message) -> Headers:
    """Return a received message's headers; none where a name is not text."""
    try:
        given = message.headers() or ()
    except UnicodeDecodeError:  # a name that is not UTF-8: the client gives none of them
        return ()
    # A message that was received has them as the client read them: pairs of a name and bytes.
    return cast(Headers, tuple(given))
