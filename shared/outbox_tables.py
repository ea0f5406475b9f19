"""The tables around the outbox, as declarations and as steps of migrations.

Kept apart from what writes events: a writer needs the outbox to be there, and neither these declarations nor
SQLAlchemy. The same tables as plain SQL are in ``docs/adopt/outbox.sql``.
"""

from typing import Final

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Computed,
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

from shared.outbox import LANES
from shared.schema_version import Schema

SCHEMA: Final = Schema("outbox", version=1, oldest=1)
"""Of the outbox and what its relay keeps. Who changes a table raises it: docs/adopt/schema-versions.md."""


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
        comment=SCHEMA.comment,
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
