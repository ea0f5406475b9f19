"""The inbox's parking lot: its tables, and the lot as a person sees it through an admin API.

A person decides, the consumer acts: a redrive is a request on the entry, and a member of the group applies it, then
what was held behind it, in the order of arrival. A discarded entry stays on record with its reason; it no longer stands
in front, so the members let go what it held.

Invariant: an event is in the inbox or here, never in both. A parked event has no inbox row: the entry is its mark, for
as long as it is there, however old the event is by then.
"""

import base64
import json
from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    RowMapping,
    Table,
    Text,
    Uuid,
    func,
    text,
)

from shared.parking import Entry, Headers, LotName, State, TableLot

_STATES: Final = "state IN ('parked', 'held', 'redriving', 'discarded')"


def inbox_parking_tables(metadata: MetaData) -> tuple[Table, Table]:
    """Declare what could not be applied, and the tries of what makes the process fail, in a database's metadata.

    An event is known by its id, and a message that is no event by its place: a topic that was made again has its
    offsets a second time, and nothing readable may be lost to that.
    """
    parked = Table(
        "inbox_parked",
        metadata,
        Column("id", BigInteger, Identity(always=True), primary_key=True),
        Column("consumer", Text, nullable=False),
        Column("topic", Text, nullable=False),
        Column("partition", Integer, nullable=False),
        Column("offset", BigInteger, nullable=False),
        Column("key", LargeBinary),
        # JSON and not JSONB: as it was written, and whatever a name may be.
        Column("headers", JSON, nullable=False),
        Column("payload", LargeBinary),
        Column("event_id", Uuid),
        Column("type", Text),
        Column("aggregate_type", Text),
        Column("aggregate_id", Text),
        Column("aggregate_version", Integer),
        Column("state", Text, CheckConstraint(_STATES), nullable=False),
        Column("attempts", Integer, nullable=False),
        Column("error", Text, nullable=False),
        Column("parked_at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
        Column("discarded_reason", Text),
        Column("discarded_at", DateTime(timezone=True)),
        Index("inbox_parked_event", "consumer", "event_id", unique=True, postgresql_where=text("event_id IS NOT NULL")),
        Index(
            "inbox_parked_place",
            "consumer",
            "topic",
            "partition",
            "offset",
            unique=True,
            postgresql_where=text("event_id IS NULL"),
        ),
        Index("inbox_parked_live", "consumer", "topic", "key", "id", postgresql_where=text("state <> 'discarded'")),
    )
    attempts = Table(
        "inbox_attempts",
        metadata,
        Column("consumer", Text, primary_key=True),
        Column("topic", Text, primary_key=True),
        Column("partition", Integer, primary_key=True, autoincrement=False),
        Column("offset", BigInteger, primary_key=True, autoincrement=False),
        Column("attempts", Integer, nullable=False),
        Column("last_error", Text, nullable=False),
        Column("last_at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
    )
    return parked, attempts


def begun_table(metadata: MetaData) -> Table:
    """Declare the notes of stretches that were begun: a row for each partition at most."""
    return Table(
        "inbox_begun",
        metadata,
        Column("consumer", Text, primary_key=True),
        Column("topic", Text, primary_key=True),
        Column("partition", Integer, primary_key=True, autoincrement=False),
        Column("first_offset", BigInteger, nullable=False),
        Column("last_offset", BigInteger, nullable=False),
        Column("times", Integer, nullable=False),
        Column("begun_at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
    )


def headers_to_json(headers: Headers) -> str:
    """Write headers exactly: names as they are, values in base64, in their order, a name as often as it came."""
    return json.dumps([[name, None if raw is None else base64.b64encode(raw).decode()] for name, raw in headers])


def headers_from_json(written: list[list[str | None]]) -> Headers:
    return tuple((str(name), None if raw is None else base64.b64decode(raw)) for name, raw in written)


_COLUMNS: Final = """
id, topic, partition, "offset", headers, event_id, type, aggregate_type, aggregate_id, aggregate_version, state,
attempts, error, parked_at, discarded_reason
"""
_LIST: Final = text(f"SELECT {_COLUMNS} FROM inbox_parked WHERE id > :after ORDER BY id LIMIT :limit")  # noqa: S608  # a constant of ours
_SHOW: Final = text(f"SELECT {_COLUMNS}, payload FROM inbox_parked WHERE id = :id")  # noqa: S608  # a constant of ours
_REDRIVE: Final = text("UPDATE inbox_parked SET state = 'redriving' WHERE id = :id AND state = 'parked'")
_DISCARD: Final = text("""
UPDATE inbox_parked SET state = 'discarded', discarded_reason = :reason, discarded_at = clock_timestamp()
WHERE id = :id AND state IN ('parked', 'held')
""")


_WHY_NOT_REDRIVEN: Final[Mapping[State, str]] = {
    "parked": "It changed in this very moment. Look at it again.",
    "held": "It waits behind an earlier event of its aggregate. Redrive or discard that one; this follows by itself.",
    "redriving": "It is to be applied again already. If that lasts, see whether a consumer of its group runs.",
    "discarded": "It was given up, and what stood behind it may have been applied since. Write a new event instead.",
}
_WHY_NOT_DISCARDED: Final[Mapping[State, str]] = {
    "parked": "It changed in this very moment. Look at it again.",
    "held": "It changed in this very moment. Look at it again.",
    "redriving": "A consumer may be applying it right now. Wait until it is gone or parked again.",
    "discarded": "It was given up before, and the reason stands.",
}


def _entry(row: RowMapping) -> Entry:
    same: dict[str, Any] = {name: row[name] for name in _SAME}
    return Entry(
        lot="inbox",
        id=str(row["id"]),
        headers=headers_from_json(row["headers"]),
        payload=row.get("payload"),
        **same,
    )


_SAME: Final = (
    "event_id", "type", "aggregate_type", "aggregate_id", "aggregate_version", "state", "attempts", "error",
    "parked_at", "topic", "partition", "offset", "discarded_reason",
)  # fmt: skip


class InboxLot(TableLot):
    """What the consumers of a service could not apply."""

    name: LotName = "inbox"
    list_entries = _LIST
    show_entry = _SHOW
    ask_for_redrive = _REDRIVE
    give_up = _DISCARD
    why_not_redriven = _WHY_NOT_REDRIVEN
    why_not_discarded = _WHY_NOT_DISCARDED
    read = staticmethod(_entry)
