"""The inbox: which events a consumer has already applied.

Invariant: the inbox row and the effect of an event commit together, so an event has its effect once, however often and
by whatever way it is delivered (redelivery after a crash, republication by a relay, replay of the topic).

Not promised: once *outside* of this database. An e-mail or a call to another system needs the event id as its own key.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol
from uuid import UUID

from sqlalchemy import BigInteger, Column, Connection, DateTime, Integer, MetaData, Table, Text, Uuid, func

from shared import events
from shared.envelope import Envelope
from shared.parking import Headers
from shared.schema_version import Schema

SCHEMA: Final = Schema("inbox", version=2, oldest=1)
"""Of the inbox and its parking lot. Who changes a table raises it: docs/adopt/schema-versions.md."""


@dataclass(slots=True)
class Delivery:
    """One event as it came from the log, with where it stood and who received it. Never changed once made."""

    envelope: Envelope
    topic: str
    partition: int
    offset: int
    member: str
    generation: int
    key: bytes | None = None
    headers: Headers = ()
    _payload: events.Payload | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def aggregate_id(self) -> str:
        return self.envelope.aggregate_id

    @property
    def payload(self) -> events.Payload:
        """The event's typed payload, read when first asked for. Raises PermanentError when it cannot be read."""
        if self._payload is None:
            self._payload = events.decode(self.envelope.type, self.envelope.payload, self.envelope.dataschema)
        return self._payload


class Inbox(Protocol):
    """Decides which deliveries are new. A guard-off variant in the chaos package has one that never says no."""

    def new(self, connection: Connection, batch: Sequence[Delivery]) -> list[Delivery]:
        """Record a batch through the caller's connection and return, in its order, what was new; never commits."""
        ...

    def forget(self, connection: Connection, deliveries: Sequence[Delivery]) -> None:
        """Take back, in the transaction that recorded them, deliveries that had no effect: they go to the lot."""
        ...


# Only this statement decides: a look before it would be a race, and catching a unique violation around the handler
# would take a broken foreign key for a duplicate. Sorted by event, so that two members with the same events wait for
# each other instead of deadlocking; of two copies in one batch the first is recorded.
_RECORD = """
INSERT INTO inbox (consumer, event_id, topic, partition, "offset", member, generation, aggregate_id, aggregate_version)
SELECT %(consumer)s, event_id, topic, partition, "offset", member, generation, aggregate_id, aggregate_version
FROM unnest(%(event_id)s::uuid[], %(topic)s::text[], %(partition)s::int[], %(offset)s::bigint[], %(member)s::text[],
            %(generation)s::int[], %(aggregate_id)s::text[], %(aggregate_version)s::int[]) WITH ORDINALITY
  AS delivery (event_id, topic, partition, "offset", member, generation, aggregate_id, aggregate_version, place)
ORDER BY event_id, place
ON CONFLICT (consumer, event_id) DO NOTHING
RETURNING event_id
"""


# Allowed to be out of date, since it only spares work: what it does not find goes through the statement above. A row
# that it finds was committed with its effect, and nothing takes it back but the end of the dedup window.
_UNKNOWN = """
SELECT event_id FROM unnest(%(event_id)s::uuid[]) AS delivery (event_id)
WHERE NOT EXISTS (SELECT FROM inbox WHERE inbox.consumer = %(consumer)s AND inbox.event_id = delivery.event_id)
"""

# Recorded and taken back in one transaction: to others the row was never there, and yet it made them wait.
_FORGET = "DELETE FROM inbox WHERE consumer = %(consumer)s AND event_id = ANY(%(event_id)s::uuid[])"


class DatabaseInbox:
    """The inbox of one consumer, in the database of its effects."""

    def __init__(self, consumer: str) -> None:
        self._consumer = consumer
        self._knew_most = False

    def new(self, connection: Connection, batch: Sequence[Delivery]) -> list[Delivery]:
        # In the middle of a replay a look is cheaper than to insert row by row what is there; among news it is a waste.
        unknown = self._unknown(connection, batch) if self._knew_most else batch
        fresh = self._record(connection, unknown) if unknown else []
        self._knew_most = len(fresh) * 2 < len(batch)
        return fresh

    def _unknown(self, connection: Connection, batch: Sequence[Delivery]) -> list[Delivery]:
        event_ids = [d.envelope.event_id for d in batch]
        rows = connection.exec_driver_sql(_UNKNOWN, {"consumer": self._consumer, "event_id": event_ids})
        unknown = {row.event_id for row in rows}
        return [d for d in batch if d.envelope.event_id in unknown]

    def _record(self, connection: Connection, batch: Sequence[Delivery]) -> list[Delivery]:
        recorded = connection.exec_driver_sql(
            _RECORD,
            {
                "consumer": self._consumer,
                "event_id": [d.envelope.event_id for d in batch],
                "topic": [d.topic for d in batch],
                "partition": [d.partition for d in batch],
                "offset": [d.offset for d in batch],
                "member": [d.member for d in batch],
                "generation": [d.generation for d in batch],
                "aggregate_id": [d.envelope.aggregate_id for d in batch],
                "aggregate_version": [d.envelope.aggregate_version for d in batch],
            },
        )
        return _first_of_each(batch, {row.event_id for row in recorded})

    def forget(self, connection: Connection, deliveries: Sequence[Delivery]) -> None:
        event_ids = [d.envelope.event_id for d in deliveries]
        connection.exec_driver_sql(_FORGET, {"consumer": self._consumer, "event_id": event_ids})


def _first_of_each(batch: Sequence[Delivery], event_ids: set[UUID]) -> list[Delivery]:
    firsts = []
    for delivery in batch:
        if delivery.envelope.event_id in event_ids:
            event_ids.remove(delivery.envelope.event_id)
            firsts.append(delivery)
    return firsts


def inbox_table(metadata: MetaData) -> Table:
    """Declare the inbox in a database's metadata. Two consumers may share a table, so the key has both."""
    return Table(
        "inbox",
        metadata,
        Column("consumer", Text, primary_key=True),
        Column("event_id", Uuid, primary_key=True),
        Column("topic", Text, nullable=False),
        Column("partition", Integer, nullable=False),
        Column("offset", BigInteger, nullable=False),
        Column("member", Text, nullable=False),
        Column("generation", Integer, nullable=False),
        Column("aggregate_id", Text, nullable=False),
        Column("aggregate_version", Integer, nullable=False),
        Column("applied_at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
        comment=SCHEMA.comment,
    )
