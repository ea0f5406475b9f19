"""The envelope around a payload: CloudEvents 1.0 over Kafka, binary content mode.

The attributes travel as headers, the payload is the message's value, byte for byte the same in every copy. ``ce_id`` is
made when the event is written and never again, so every copy of an event is known by it, whatever its offset.

Sources: CloudEvents 1.0.2, Kafka protocol binding 1.0.2 section 3.2; W3C Trace Context for ``traceparent``.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Protocol
from uuid import UUID

from shared.errors import PermanentError


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
    """Return the headers of the message that carries this event. Made for every event that leaves, so kept short."""
    # One text for one moment, whoever writes it: UTC, six digits, as Debezium does.
    moment = event.occurred_at.astimezone(UTC).isoformat(timespec="microseconds")
    headers = [
        *_headers_of_type(event.type, event.source, event.dataschema, event.aggregate_type),
        ("ce_id", str(event.event_id).encode()),
        ("ce_subject", event.aggregate_id.encode()),
        ("ce_time", f"{moment[:-6]}Z".encode()),
        ("ce_aggregateversion", b"%d" % event.aggregate_version),
    ]
    if event.traceparent:
        headers.append(("traceparent", event.traceparent.encode()))
    return headers


@lru_cache(maxsize=256)
def _headers_of_type(type: str, source: str, dataschema: str, aggregate_type: str) -> tuple[tuple[str, bytes], ...]:
    """Return what is the same for all events of a type."""
    return (
        ("ce_specversion", b"1.0"),
        ("ce_type", type.encode()),
        ("ce_source", source.encode()),
        ("ce_dataschema", dataschema.encode()),
        ("ce_aggregatetype", aggregate_type.encode()),
        ("content-type", b"application/json"),
    )


def from_message(headers: Iterable[tuple[str, str | bytes | None]] | None, value: bytes | None) -> Envelope:
    """Read an event back from a message. Raises PermanentError that names what is missing or broken."""
    if value is None:
        raise PermanentError("the message has no value")
    try:
        attributes = {name: _text(raw) for name, raw in headers or () if raw is not None}
        return Envelope(
            event_id=UUID(attributes["ce_id"]),
            type=attributes["ce_type"],
            source=attributes["ce_source"],
            aggregate_type=attributes["ce_aggregatetype"],
            aggregate_id=attributes["ce_subject"],
            aggregate_version=int(attributes["ce_aggregateversion"]),
            dataschema=attributes["ce_dataschema"],
            payload=value,
            occurred_at=datetime.fromisoformat(attributes["ce_time"]),
            traceparent=attributes.get("traceparent"),
        )
    except KeyError as error:
        raise PermanentError(f"the message has no header {error.args[0]}") from error
    except ValueError as error:
        raise PermanentError(f"a header of the message cannot be read: {error}") from error


def _text(raw: str | bytes) -> str:
    return raw if isinstance(raw, str) else raw.decode()
