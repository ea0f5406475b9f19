"""The envelope around a payload: CloudEvents 1.0 over Kafka, binary content mode.

The attributes travel as headers, the payload is the message's value, byte for byte the same in every copy. ``ce_id`` is
made when the event is written and never again, so every copy of an event is known by it, whatever its offset.

Sources: CloudEvents 1.0.2, Kafka protocol binding 1.0.2 section 3.2; W3C Trace Context for ``traceparent``.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
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


def to_headers(envelope: Envelope) -> list[tuple[str, bytes]]:
    """Return the headers of the message that carries this event."""
    attributes = {
        "ce_specversion": "1.0",
        "ce_id": str(envelope.event_id),
        "ce_type": envelope.type,
        "ce_source": envelope.source,
        "ce_subject": envelope.aggregate_id,
        # One text for one moment, whoever writes it: UTC, six digits, as Debezium does.
        "ce_time": envelope.occurred_at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "ce_dataschema": envelope.dataschema,
        "ce_aggregatetype": envelope.aggregate_type,
        "ce_aggregateversion": str(envelope.aggregate_version),
        "content-type": "application/json",
    }
    if envelope.traceparent:
        attributes["traceparent"] = envelope.traceparent
    return [(name, value.encode()) for name, value in attributes.items()]


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
