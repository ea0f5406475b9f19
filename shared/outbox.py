"""The outbox: events written in the transaction of the change that they tell about.

Invariant: an event is in the outbox if and only if its change is committed. The table is an append-only log: no row is
ever updated, so nothing is "marked as published"; what has been published is known by the relay's position alone.

Not promised: that an event leaves once (the relay may send it again; consumers have an inbox), or an order between
*different* aggregates.

Any driver can be the writer's: ``statement`` gives the SQL and its parameters to whichever connection holds the
aggregate's lock, and ``add`` runs it on SQLAlchemy's. Imports no driver. docs/adopt/ has a recipe for each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

from uuid_utils.compat import uuid7

from shared import events

if TYPE_CHECKING:
    from sqlalchemy import Connection

LANES: Final = 16
"""Lanes per destination: the grain in which relays share out the work. One aggregate is always in one lane."""

Destination = Literal["event", "command"]

ADD: Final = """
INSERT INTO outbox (event_id, aggregate_type, aggregate_id, aggregate_version,
                    destination, type, source, dataschema, payload, traceparent)
VALUES (%(event_id)s, %(aggregate_type)s, %(aggregate_id)s, %(aggregate_version)s,
        %(destination)s, %(type)s, %(source)s, %(dataschema)s, %(payload)s, %(traceparent)s)
"""
"""Plain SQL for one event. ``xid`` and ``id`` are left to their defaults, drawn in that order."""

ADD_MANY: Final = """
INSERT INTO outbox (event_id, aggregate_type, aggregate_id, aggregate_version,
                    destination, type, source, dataschema, payload, traceparent)
SELECT event_id, aggregate_type, aggregate_id, aggregate_version,
       destination, type, source, dataschema, payload, traceparent
FROM unnest(%(event_id)s::uuid[], %(aggregate_type)s::text[], %(aggregate_id)s::text[], %(aggregate_version)s::int[],
            %(destination)s::text[], %(type)s::text[], %(source)s::text[], %(dataschema)s::text[],
            %(payload)s::bytea[], %(traceparent)s::text[]) WITH ORDINALITY
  AS event (event_id, aggregate_type, aggregate_id, aggregate_version,
            destination, type, source, dataschema, payload, traceparent, place)
ORDER BY place
"""
"""The same for many, in their order; any driver that binds lists can run it. For one it takes twice as long."""


@dataclass(frozen=True, slots=True)
class Event:
    """One row to be written: a fact for the stream, or a command for one receiver."""

    event_id: UUID
    aggregate_type: str
    aggregate_id: str
    aggregate_version: int
    destination: Destination
    type: str
    source: str
    dataschema: str
    payload: bytes
    traceparent: str | None


def new_event(
    aggregate_type: str,
    aggregate_id: str,
    aggregate_version: int,
    payload: events.Payload,
    *,
    source: str,
    destination: Destination = "event",
    traceparent: str | None = None,
) -> Event:
    """Make an event with an id of its own (UUID version 7, RFC 9562), which all its copies will carry."""
    type_name = type(payload).__name__
    return Event(
        event_id=uuid7(),
        aggregate_type=aggregate_type,
        aggregate_id=aggregate_id,
        aggregate_version=aggregate_version,
        destination=destination,
        type=type_name,
        source=source,
        dataschema=events.dataschema(type_name),
        payload=events.encode(payload),
        traceparent=traceparent,
    )


def statement(*new_events: Event) -> tuple[str, dict[str, Any]]:
    """Return what writes these events: SQL, and its parameters by name.

    For the connection that holds the aggregate's lock, as ``add`` says: ``connection.execute(*statement(event))`` with
    psycopg, awaited where it is asynchronous; ``cursor.execute(*statement(event))`` with Django.
    """
    if len(new_events) == 1:
        return ADD, {name: getattr(new_events[0], name) for name in Event.__slots__}
    return ADD_MANY, {name: [getattr(event, name) for event in new_events] for name in Event.__slots__}


def add(connection: Connection, *new_events: Event) -> None:
    """Write events through the caller's connection; never commits.

    The caller has locked or written the aggregate's own row in an *earlier* statement. Only then are the ids of one
    aggregate's events drawn in the order of its versions, which is what the relay's order rests on.
    Raises IntegrityError for a version that the aggregate already has: two writers did not lock the aggregate's row.
    """
    if new_events:
        connection.exec_driver_sql(*statement(*new_events))
