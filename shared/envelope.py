"""The envelope around a payload: CloudEvents 1.0 over Kafka, binary content mode.

The attributes travel as headers, the payload is the message's value, byte for byte the same in every copy. ``ce_id`` is
made when the event is written and never again, so every copy of an event is known by it, whatever its offset.

Sources: CloudEvents 1.0.2, Kafka protocol binding 1.0.2 section 3.2; W3C Trace Context for ``traceparent``.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, Protocol
from uuid import UUID

from shared.errors import PermanentError

_LARGEST_VERSION: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Envelope:
    event_id: UUID
    type: str
    source: str
    aggregate_type: str
    aggregate_id: str
    aggregate_version: int
    """1, 2, 3, ... within the aggregate."""
    dataschema: str
    payload: bytes
    occurred_at: datetime
    traceparent: str | None = None


class Attributes(Protocol):
    """What an event says about itself: an envelope, or a row that is one."""

    @property
    def event_id(self) -> UUID: ...
    @property
    def type(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def aggregate_type(self) -> str: ...
    @property
    def aggregate_id(self) -> str: ...
    @property
    def aggregate_version(self) -> int: ...
    @property
    def dataschema(self) -> str: ...
    @property
    def occurred_at(self) -> datetime: ...
    @property
    def traceparent(self) -> str | None: ...


def to_headers(event: Attributes) -> list[tuple[str, bytes]]:
    """Return the headers of the message that carries this event."""
    headers = text_headers(
        event_id=str(event.event_id),
        type=event.type,
        source=event.source,
        aggregate_type=event.aggregate_type,
        aggregate_id=event.aggregate_id,
        aggregate_version=event.aggregate_version,
        dataschema=event.dataschema,
        # One text for one moment, whoever writes it: UTC, six digits, as Debezium does.
        occurred_at=event.occurred_at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
        traceparent=event.traceparent,
    )
    return [(name, value.encode()) for name, value in headers]


def text_headers(
    *,
    event_id: str,
    type: str,
    source: str,
    aggregate_type: str,
    aggregate_id: str,
    aggregate_version: int,
    dataschema: str,
    occurred_at: str,
    traceparent: str | None,
) -> list[tuple[str, str]]:
    """Return the headers from attributes that are text already: the shortest way from a row to a message."""
    headers = [
        *_headers_of_type(type, source, dataschema, aggregate_type),
        ("ce_id", event_id),
        ("ce_subject", aggregate_id),
        ("ce_time", occurred_at),
        ("ce_aggregateversion", str(aggregate_version)),
    ]
    if traceparent:
        headers.append(("traceparent", traceparent))
    return headers


@lru_cache(maxsize=256)
def _headers_of_type(type: str, source: str, dataschema: str, aggregate_type: str) -> tuple[tuple[str, str], ...]:
    """Return what is the same for all events of a type."""
    return (
        ("ce_specversion", "1.0"),
        ("ce_type", type),
        ("ce_source", source),
        ("ce_dataschema", dataschema),
        ("ce_aggregatetype", aggregate_type),
        ("content-type", "application/json"),
    )


def from_message(headers: Iterable[tuple[str, bytes | None]] | None, value: bytes | None) -> Envelope:
    """Read an event back from a message. Raises PermanentError that names what is missing or broken."""
    if value is None:
        raise PermanentError("the message has no value")
    try:
        attributes = {name: raw.decode() for name, raw in headers or () if raw is not None}
        read = Envelope(
            UUID(attributes["ce_id"]),
            attributes["ce_type"],
            attributes["ce_source"],
            attributes["ce_aggregatetype"],
            attributes["ce_subject"],
            int(attributes["ce_aggregateversion"]),
            attributes["ce_dataschema"],
            value,
            datetime.fromisoformat(attributes["ce_time"]),
            attributes.get("traceparent"),
        )
    except KeyError as error:
        raise PermanentError(f"the message has no header {error.args[0]}") from error
    except ValueError as error:
        raise PermanentError(f"a header of the message cannot be read: {error}") from error
    _check(read)
    return read


@dataclass(frozen=True, slots=True)
class Glimpse:
    """What a message says of itself although it is no event that can be read: for people, and to decide nothing."""

    type: str | None
    aggregate_type: str | None
    aggregate_id: str | None
    aggregate_version: int | None


def glimpse(headers: Iterable[tuple[str, bytes | None]]) -> Glimpse:
    """Read what can be read. Never raises."""
    texts = {name: raw.decode(errors="replace").replace("\0", "\ufffd") for name, raw in headers if raw}
    version = texts.get("ce_aggregateversion", "")
    is_version = version.isascii() and version.isdecimal() and len(version) <= 10 and int(version) <= _LARGEST_VERSION
    return Glimpse(
        type=texts.get("ce_type"),
        aggregate_type=texts.get("ce_aggregatetype"),
        aggregate_id=texts.get("ce_subject"),
        aggregate_version=int(version) if is_version else None,
    )


def _check(envelope: Envelope) -> None:
    """Refuse what a database would refuse to note: then one such message would fail all that came with it."""
    if not 1 <= envelope.aggregate_version <= _LARGEST_VERSION:
        raise PermanentError(f"the version {envelope.aggregate_version} of the aggregate is out of range")
    if envelope.occurred_at.tzinfo is None:
        raise PermanentError("the time in the header ce_time has no offset from UTC")
    if not envelope.aggregate_id:
        raise PermanentError("the header ce_subject is empty, so the aggregate is not known")
    if "\0" in envelope.aggregate_id or "\0" in envelope.type or "\0" in envelope.aggregate_type:
        raise PermanentError("a header of the message has a NUL character")
