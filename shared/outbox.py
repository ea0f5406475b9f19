"""The outbox: events written in the transaction of the change that they tell about.

Invariant: an event is in the outbox if and only if its change is committed. The table is an append-only log: no row is
ever updated, so nothing is "marked as published"; what has been published is known by the relay's position alone.

Not promised: that an event leaves once (the relay may send it again; consumers have an inbox), or an order between
*different* aggregates.
"""

from dataclasses import dataclass
from typing import Final, Literal
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Computed,
    Connection,
    DateTime,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    func,
    text,
)
from sqlalchemy.dialects.postgresql.base import ischema_names
from sqlalchemy.types import UserDefinedType
from uuid_utils.compat import uuid7

from shared import events

LANES: Final = 16
"""Lanes per destination: the grain in which relays share out the work. One aggregate is always in one lane."""

Destination = Literal["event", "command"]

ADD: Final = """
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
"""Plain SQL for one event or many, in their order; any driver that binds lists can run it. ``xid`` and ``id`` are left
to their defaults, drawn in that order."""


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


def add(connection: Connection, *new_events: Event) -> None:
    """Write events through the caller's connection; never commits.

    The caller has locked or written the aggregate's own row in an *earlier* statement. Only then are the ids of one
    aggregate's events drawn in the order of its versions, which is what the relay's order rests on.
    Raises IntegrityError for a version that the aggregate already has: two writers did not lock the aggregate's row.
    """
    if new_events:
        columns = {name: [getattr(event, name) for event in new_events] for name in Event.__slots__}
        connection.exec_driver_sql(ADD, columns)


class Xid8(UserDefinedType[int]):
    """A transaction id that never wraps (PostgreSQL 13 and later)."""

    cache_ok = True

    def get_col_spec(self, **_: object) -> str:
        return "xid8"


class Snapshot(UserDefinedType[str]):
    """A set of transactions that were visible together: ``xmin:xmax:in-progress,…``."""

    cache_ok = True

    def get_col_spec(self, **_: object) -> str:
        return "pg_snapshot"


# So that a schema read back from a database (`alembic check`) has these types too.
ischema_names.update(xid8=Xid8, pg_snapshot=Snapshot)


def outbox_table(metadata: MetaData) -> Table:
    """Declare the outbox in a database's metadata.

    ``xid`` is the first column because defaults are evaluated in column order: the transaction has its id before the
    row draws ``id``. The relay's proof that no late commit is missed needs exactly that order.
    """
    return Table(
        "outbox",
        metadata,
        Column("xid", Xid8(), nullable=False, server_default=text("pg_current_xact_id()")),
        Column("id", BigInteger, Identity(always=True, cache=1), primary_key=True),
        Column("event_id", Uuid, nullable=False, unique=True),
        Column("aggregate_type", Text, nullable=False),
        Column("aggregate_id", Text, nullable=False),
        Column("aggregate_version", Integer, CheckConstraint("aggregate_version >= 1"), nullable=False),
        Column(
            "lane",
            SmallInteger,
            Computed(f"get_byte(decode(md5(aggregate_id), 'hex'), 0) % {LANES}", persisted=True),
            nullable=False,
        ),
        Column("destination", Text, CheckConstraint("destination IN ('event', 'command')"), nullable=False),
        Column("type", Text, nullable=False),
        Column("source", Text, nullable=False),
        Column("dataschema", Text, nullable=False),
        Column("payload", LargeBinary, nullable=False),
        Column("traceparent", Text),
        Column("occurred_at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
        UniqueConstraint("aggregate_type", "aggregate_id", "aggregate_version"),
        Index("outbox_xid_id", "xid", "id"),
    )


_STATES: Final = "state IN ('parked', 'held', 'redriving', 'discarded')"


def relay_tables(metadata: MetaData) -> tuple[Table, ...]:
    """Declare what the relay keeps: positions, the lanes that stand at each, the relays that live, parked rows, and up
    to where rows have been deleted."""
    position = Table(
        "relay_position",
        metadata,
        Column("position_id", BigInteger, Identity(always=True), primary_key=True),
        Column("destination", Text, nullable=False),
        Column("owner", Text),
        Column("epoch", BigInteger, nullable=False, server_default="0"),
        Column("lease_until", DateTime(timezone=True)),
        Column("system_identifier", Text),
        Column("timeline", Integer),
        Column("stalls", Integer, nullable=False, server_default="0"),
        Column("suspect_id", BigInteger),
        Column("suspect_tries", Integer, nullable=False, server_default="0"),
        Column("done", Snapshot(), nullable=False, server_default="1:1:"),
        Column("floor_id", BigInteger, nullable=False, server_default="0"),
        Column("target", Snapshot()),
        Column("target_floor", BigInteger),
        Column("after_id", BigInteger, nullable=False, server_default="0"),
        # Settles rewrite these rows all the time: room on the page keeps them heap-only.
        postgresql_with={"fillfactor": 50},
    )
    lane = Table(
        "relay_lane",
        metadata,
        Column("destination", Text, primary_key=True),
        Column("lane", SmallInteger, primary_key=True, autoincrement=False),
        Column("position_id", ForeignKey(position.c.position_id), nullable=False, index=True),
    )
    member = Table(
        "relay_member",
        metadata,
        Column("destination", Text, primary_key=True),
        Column("name", Text, primary_key=True),
        Column("alive_until", DateTime(timezone=True), nullable=False),
    )
    parked = Table(
        "outbox_parked",
        metadata,
        Column("outbox_id", ForeignKey("outbox.id"), primary_key=True, autoincrement=False),
        Column("state", Text, CheckConstraint(_STATES), nullable=False),
        Column("attempts", Integer, nullable=False),
        Column("last_error", Text, nullable=False),
        Column("parked_at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
        Column("destination", Text, nullable=False),
        Column("lane", SmallInteger, nullable=False),
        Column("aggregate_type", Text, nullable=False),
        Column("aggregate_id", Text, nullable=False),
        Column("tries", Integer, nullable=False, server_default="0"),
        Column("discarded_reason", Text),
        Column("discarded_at", DateTime(timezone=True)),
        Index(
            "outbox_parked_live",
            "destination",
            "aggregate_type",
            "aggregate_id",
            "outbox_id",
            postgresql_where=text("state <> 'discarded'"),
        ),
    )
    purged = Table(
        "outbox_purged",
        metadata,
        Column("destination", Text, primary_key=True),
        Column("up_to_id", BigInteger, nullable=False),
        Column("up_to_at", DateTime(timezone=True), nullable=False),
    )
    return position, lane, member, parked, purged


FIRST_POSITIONS: Final = f"""
WITH position AS (
  INSERT INTO relay_position (destination) VALUES ('event'), ('command') RETURNING position_id, destination)
INSERT INTO relay_lane (destination, lane, position_id)
SELECT destination, lane, position_id FROM position CROSS JOIN generate_series(0, {LANES - 1}) AS lane
"""  # noqa: S608  # a constant of ours
"""For the migration that creates the tables: all lanes of each destination stand together at the very start."""


WIDEN_PARKED: Final = (
    """
ALTER TABLE outbox_parked
  ADD COLUMN IF NOT EXISTS destination text, ADD COLUMN IF NOT EXISTS lane smallint,
  ADD COLUMN IF NOT EXISTS aggregate_type text, ADD COLUMN IF NOT EXISTS aggregate_id text,
  ADD COLUMN IF NOT EXISTS tries integer NOT NULL DEFAULT 0, ADD COLUMN IF NOT EXISTS discarded_reason text,
  ADD COLUMN IF NOT EXISTS discarded_at timestamptz
""",
    """
UPDATE outbox_parked SET destination = outbox.destination, lane = outbox.lane,
  aggregate_type = outbox.aggregate_type, aggregate_id = outbox.aggregate_id
FROM outbox WHERE outbox.id = outbox_id AND outbox_parked.destination IS NULL
""",
    """
ALTER TABLE outbox_parked
  ALTER destination SET NOT NULL, ALTER lane SET NOT NULL,
  ALTER aggregate_type SET NOT NULL, ALTER aggregate_id SET NOT NULL
""",
    "ALTER TABLE outbox_parked DROP CONSTRAINT IF EXISTS outbox_parked_state_check",
    f"ALTER TABLE outbox_parked ADD CONSTRAINT outbox_parked_state_check CHECK ({_STATES})",
    """
CREATE INDEX IF NOT EXISTS outbox_parked_live ON outbox_parked (destination, aggregate_type, aggregate_id, outbox_id)
WHERE state <> 'discarded'
""",
    """
ALTER TABLE relay_position
  ADD COLUMN IF NOT EXISTS suspect_id bigint, ADD COLUMN IF NOT EXISTS suspect_tries integer NOT NULL DEFAULT 0
""",
)
"""For the migration of a database whose parking lot knew only ``parked`` and ``held``. Harmless where it has run, since
a new database is made with today's tables."""

NARROW_PARKED: Final = (
    "DELETE FROM outbox_parked WHERE state = 'discarded'",
    "UPDATE outbox_parked SET state = 'parked' WHERE state = 'redriving'",
    "ALTER TABLE outbox_parked DROP CONSTRAINT outbox_parked_state_check",
    "ALTER TABLE outbox_parked ADD CONSTRAINT outbox_parked_state_check CHECK (state IN ('parked', 'held'))",
    """
ALTER TABLE outbox_parked DROP COLUMN destination, DROP COLUMN lane, DROP COLUMN aggregate_type,
  DROP COLUMN aggregate_id, DROP COLUMN tries, DROP COLUMN discarded_reason, DROP COLUMN discarded_at
""",
    "ALTER TABLE relay_position DROP COLUMN suspect_id, DROP COLUMN suspect_tries",
)
"""The way back. What was discarded is forgotten: the older table has no word for it."""
