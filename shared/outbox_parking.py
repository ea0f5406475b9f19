"""The outbox's parking lot, as a person sees it through an admin API.

A person decides, the relay acts: a redrive is a request on the row, and whoever owns the row's lane sends it again,
then what was held behind it, in the order of the outbox. A discarded row stays on record with its reason; it no longer
stands in front, so the relay lets go what it held.

Invariant: only the first row of an aggregate is ever sent again, and only one that nobody is sending can be discarded.
"""

from typing import Final

from sqlalchemy import Connection, RowMapping, text

from shared.envelope import Envelope, to_headers
from shared.errors import RefusedError
from shared.parking import Entry, LotName, UnknownEntryError

_COLUMNS: Final = """
outbox_id, state, attempts, last_error, parked_at, discarded_reason, outbox_parked.destination, event_id, type,
outbox_parked.aggregate_type, outbox_parked.aggregate_id, aggregate_version, source, dataschema, traceparent,
occurred_at
"""
_LIST: Final = text(f"""
SELECT {_COLUMNS} FROM outbox_parked JOIN outbox ON outbox.id = outbox_id
WHERE outbox_id > :after ORDER BY outbox_id LIMIT :limit
""")  # noqa: S608  # a constant of ours
_SHOW: Final = text(f"""
SELECT {_COLUMNS}, payload FROM outbox_parked JOIN outbox ON outbox.id = outbox_id WHERE outbox_id = :id
""")  # noqa: S608  # a constant of ours
_REDRIVE: Final = text("""
UPDATE outbox_parked SET state = 'redriving', tries = 0 WHERE outbox_id = :id AND state = 'parked'
""")
_DISCARD: Final = text("""
UPDATE outbox_parked SET state = 'discarded', discarded_reason = :reason, discarded_at = clock_timestamp()
WHERE outbox_id = :id AND state IN ('parked', 'held')
""")
_LONGEST_ID: Final = 18


class OutboxLot:
    """What a service's outbox could not send."""

    name: LotName = "outbox"

    def entries(self, connection: Connection, *, limit: int, after: str | None = None) -> list[Entry]:
        rows = connection.execute(_LIST, {"after": self._id(after) if after else 0, "limit": limit})
        return [_entry(row) for row in rows.mappings()]

    def entry(self, connection: Connection, entry_id: str) -> Entry:
        row = connection.execute(_SHOW, {"id": self._id(entry_id)}).mappings().one_or_none()
        if row is None:
            raise UnknownEntryError(self.name, entry_id)
        return _entry(row)

    def redrive(self, connection: Connection, entry_id: str) -> None:
        if not connection.execute(_REDRIVE, {"id": self._id(entry_id)}).rowcount:
            raise RefusedError(_WHY_NOT_REDRIVEN[self.entry(connection, entry_id).state])

    def discard(self, connection: Connection, entry_id: str, reason: str) -> None:
        if not reason.strip():
            raise RefusedError("Giving an event up needs a reason, which stays on record. Say one.")
        if not connection.execute(_DISCARD, {"id": self._id(entry_id), "reason": reason.strip()}).rowcount:
            raise RefusedError(_WHY_NOT_DISCARDED[self.entry(connection, entry_id).state])

    def _id(self, entry_id: str) -> int:
        if not (entry_id.isascii() and entry_id.isdecimal() and len(entry_id) <= _LONGEST_ID):
            raise UnknownEntryError(self.name, entry_id)
        return int(entry_id)


_WHY_NOT_REDRIVEN: Final = {
    "parked": "It changed in this very moment. Look at it again.",
    "held": "It waits behind an earlier event of its aggregate. Redrive or discard that one; this follows by itself.",
    "redriving": "It is to be sent again already. If that lasts, see whether a relay runs and its receiver answers.",
    "discarded": "It was given up, and what stood behind it may have left since. Write a new event instead.",
}
_WHY_NOT_DISCARDED: Final = {
    "parked": "It changed in this very moment. Look at it again.",
    "held": "It changed in this very moment. Look at it again.",
    "redriving": "A relay may be sending it right now. Wait until it is gone or parked again.",
    "discarded": "It was given up before, and the reason stands.",
}


_ATTRIBUTES: Final = (
    "event_id", "type", "source", "aggregate_type", "aggregate_id", "aggregate_version", "dataschema", "occurred_at",
    "traceparent",
)  # fmt: skip


def _entry(row: RowMapping) -> Entry:
    return Entry(
        lot="outbox",
        id=str(row["outbox_id"]),
        event_id=row["event_id"],
        type=row["type"],
        aggregate_type=row["aggregate_type"],
        aggregate_id=row["aggregate_id"],
        aggregate_version=row["aggregate_version"],
        state=row["state"],
        attempts=row["attempts"],
        error=row["last_error"],
        parked_at=row["parked_at"],
        destination=row["destination"],
        headers=tuple(to_headers(Envelope(payload=b"", **{name: row[name] for name in _ATTRIBUTES}))),
        payload=row.get("payload"),
        discarded_reason=row["discarded_reason"],
    )
