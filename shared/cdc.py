"""What a database holds for the engine ``cdc``: a publication of its events, and heartbeats that say how far it came.

A connector reads the write-ahead log through a replication slot. The slot knows how far the broker has acknowledged,
as a place in that log; the rest of the system knows a place in the outbox, as a snapshot. A heartbeat is the bridge: a
row with the snapshot of a moment and the end of the log just after it. What the snapshot sees was written to the log
before that end, so once the slot has confirmed the end, all of it is published.

``cdc_heartbeat(slot)``, which the connector calls about once a second, writes such a row and moves the relay's position
to the newest one that is confirmed. So a position means the same under every engine: back-pressure, status, retention
and the way back to a relay need nothing of their own for ``cdc``, and when the connector stands still, so does it.

Invariant: the position never sees a row that the broker has not acknowledged. It moves only while its owner is ``cdc``.

Not promised: that it is at the very end. It is about two heartbeats behind, and what lies between is published twice
when a relay takes over.
"""

from typing import Final

from sqlalchemy import BigInteger, Column, DateTime, Identity, MetaData, Table, func, text
from sqlalchemy.dialects.postgresql.base import ischema_names
from sqlalchemy.types import UserDefinedType

from shared.outbox_tables import Snapshot

OWNER: Final = "cdc"
"""Owner of the positions of events while the engine is in force: no relay can take what somebody else holds."""

PUBLICATION: Final = "outbox_events"


class Lsn(UserDefinedType[str]):
    """A place in the write-ahead log."""

    cache_ok = True

    def get_col_spec(self, **_: object) -> str:
        return "pg_lsn"


ischema_names.update(pg_lsn=Lsn)


def cdc_tables(metadata: MetaData) -> tuple[Table, ...]:
    """Declare the heartbeats in the metadata of a database with an outbox."""
    heartbeat = Table(
        "cdc_heartbeat",
        metadata,
        Column("id", BigInteger, Identity(always=True), primary_key=True),
        # The statement's snapshot is taken before its row asks for the end of the log: never the other way round.
        Column("snapshot", Snapshot(), nullable=False, server_default=text("pg_current_snapshot()")),
        Column("lsn", Lsn(), nullable=False, server_default=text("pg_current_wal_insert_lsn()")),
        Column("drawn_id", BigInteger, nullable=False),
        Column("floor_id", BigInteger, nullable=False),
        Column("written_at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
    )
    return (heartbeat,)


CREATE_HEARTBEAT: Final = f"""
CREATE FUNCTION cdc_heartbeat(slot text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  -- Read before this transaction's first write: the floor of the heartbeat after this one, as in the relay.
  drawn bigint := coalesce(pg_sequence_last_value('outbox_id_seq'), 0);
  reached cdc_heartbeat;
BEGIN
  INSERT INTO cdc_heartbeat (drawn_id, floor_id)
  VALUES (drawn, coalesce((SELECT drawn_id FROM cdc_heartbeat ORDER BY id DESC LIMIT 1), 0));
  SELECT * INTO reached FROM cdc_heartbeat
  WHERE lsn <= (SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = slot)
  ORDER BY id DESC LIMIT 1;
  IF FOUND THEN
    UPDATE relay_position
    SET done = reached.snapshot, floor_id = reached.floor_id, target = NULL, target_floor = NULL, after_id = 0
    WHERE destination = 'event' AND owner = '{OWNER}';
    DELETE FROM cdc_heartbeat WHERE id < reached.id;
  END IF;
END $$
"""  # noqa: S608  # a constant of ours

CREATE_PUBLICATION: Final = f"""
CREATE PUBLICATION {PUBLICATION}
FOR TABLE outbox WHERE (destination = 'event'), TABLE cdc_heartbeat WITH (publish = 'insert')
"""

DROP: Final = (f"DROP PUBLICATION {PUBLICATION}", "DROP FUNCTION cdc_heartbeat(text)", "DROP TABLE cdc_heartbeat")
