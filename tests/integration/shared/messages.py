"""Messages as a log has them, sound and spoiled, and what a database has made of them."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Engine, text

from shared.clock import utc_now
from shared.envelope import Envelope, to_headers
from shared.events import OrderConfirmed
from shared.inbox import Delivery
from shared.outbox import new_event
from shared.parking import Headers
from shared.receiving import Place, Received, read

EFFECT = "CREATE TABLE effect (id bigserial, aggregate_id text, version int)"


def event(aggregate_id: str, version: int) -> Envelope:
    new = new_event(
        "order", aggregate_id, version, OrderConfirmed(order_id=aggregate_id, invoice_number="1"), source="/orders"
    )
    return Envelope(
        new.event_id, new.type, new.source, "order", aggregate_id, version, new.dataschema, new.payload, utc_now()
    )


class Log:
    """Gives messages their offsets in one partition."""

    def __init__(self) -> None:
        self._next = 0

    def message(
        self,
        event: Envelope,
        *,
        key: bytes | None = b"",
        headers: Headers | None = None,
        value: bytes | None = b"",
    ) -> Received:
        """Return a message of this event; what is given is spoiled."""
        place = Place("orders.events", 0, self._next, "member", 1)
        self._next += 1
        return read(
            place,
            event.aggregate_id.encode() if key == b"" else key,
            tuple(to_headers(event)) if headers is None else headers,
            event.payload if value == b"" else value,
        )


def with_header(event: Envelope, name: str, value: bytes | None) -> Headers:
    """Return the headers with one replaced, or taken away."""
    others = [(each, raw) for each, raw in to_headers(event) if each != name]
    return (*others, *([] if value is None else [(name, value)]))


def write_effects(connection: Connection, batch: Sequence[Delivery]) -> None:
    for delivery in batch:
        connection.execute(
            text("INSERT INTO effect (aggregate_id, version) VALUES (:id, :version)"),
            {"id": delivery.envelope.aggregate_id, "version": delivery.envelope.aggregate_version},
        )


def effects(engine: Engine) -> list[tuple[str, int]]:
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT aggregate_id, version FROM effect ORDER BY id"))
        return [(row.aggregate_id, row.version) for row in rows]


def lot(engine: Engine) -> list[tuple[Any, ...]]:
    """Return what is in the lot, in the order of arrival: aggregate, version, state."""
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT aggregate_id, aggregate_version, state FROM inbox_parked ORDER BY id"))
        return [tuple(row) for row in rows]


def recorded(engine: Engine) -> set[tuple[str, int]]:
    with engine.connect() as connection:
        return {tuple(row) for row in connection.execute(text("SELECT aggregate_id, aggregate_version FROM inbox"))}
