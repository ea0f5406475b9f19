"""Tell of deliveries that were parked: a notice each, through the outbox, for whoever watches the dead-letter topic.

Invariant: an entry of the lot that has ever been parked has one notice, written in the transaction that parked it. The
notice is an event like any other, so it leaves by the relay, in the log at least once, and with an id of its own.

Not promised: the message itself. It may be large, or not for everybody's eyes; the notice says in which lot and under
which number it is kept. What a person does with it later is in the lot alone.
"""

import re
from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection, RowMapping

from shared import outbox
from shared.events import DeliveryParked
from shared.parking import Headers

AGGREGATE_TYPE: Final = "dead_letter"
_LONGEST_TEXT: Final = 500
_TRACEPARENT: Final = re.compile(rb"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")


class Notices:
    """Writes through the caller's connection; never commits."""

    def __init__(self, consumer: str, source: str) -> None:
        """``source`` is the service's own in its events, such as ``/billing``."""
        self._consumer = consumer
        self._source = source

    def tell(self, connection: Connection, entries: Sequence[tuple[RowMapping, Headers]]) -> None:
        """Write the notices of entries that have just been written, by an earlier statement, as parked."""
        outbox.add(connection, *(self._notice(entry, headers) for entry, headers in entries))

    def _notice(self, entry: RowMapping, headers: Headers) -> outbox.Event:
        return outbox.new_event(
            AGGREGATE_TYPE,
            f"{self._consumer}/{entry['id']}",
            1,
            DeliveryParked(
                consumer=self._consumer,
                entry=entry["id"],
                topic=entry["topic"],
                partition=entry["partition"],
                offset=entry["offset"],
                event_id=entry["event_id"] and str(entry["event_id"]),
                type=_short(entry["type"]),
                aggregate_type=_short(entry["aggregate_type"]),
                aggregate_id=_short(entry["aggregate_id"]),
                aggregate_version=entry["aggregate_version"],
                attempts=entry["attempts"],
                error=entry["error"][:_LONGEST_TEXT],
            ),
            source=self._source,
            traceparent=_traceparent(headers),
        )


def _short(said: str | None) -> str | None:
    """Cut what a message says of itself: a notice must always fit into its topic."""
    return said and said[:_LONGEST_TEXT]


def _traceparent(headers: Headers) -> str | None:
    """Return the trace of the message, if it is one: of poison, nothing is taken as it is."""
    found = next((raw for name, raw in headers if name == "traceparent" and raw), b"")
    return found.decode() if _TRACEPARENT.fullmatch(found) else None
