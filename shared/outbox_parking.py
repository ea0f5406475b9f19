"""The outbox's parking lot, as a person sees it through an admin API.

A person decides, the relay acts: a redrive is a request on the row, and whoever owns the row's lane sends it again,
then what was held behind it, in the order of the outbox. A discarded row stays on record with its reason; it no longer
stands in front, so the relay lets go what it held.

Invariant: only the first row of an aggregate is ever sent again, and only one that nobody is sending can be discarded.
"""

from collections.abc import Mapping
from typing import Final

from sqlalchemy import RowMapping, text

from shared.envelope import Envelope, to_headers
from shared.parking import Entry, LotName, State, TableLot

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


_WHY_NOT_REDRIVEN: Final[Mapping[State, str]] = {
    "parked": "It changed in this very moment. Look at it again.",
    "held": "It waits behind an earlier event of its aggregate. Redrive or discard that one; this follows by itself.",
    "redriving": "It is to be sent again already. If that lasts, see whether a relay runs and its receiver answers.",
    "discarded": "It was given up, and what stood behind it may have left since. Write a new event instead.",
}
_WHY_NOT_DISCARDED: Final[Mapping[State, str]] = {
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


class OutboxLot(TableLot):
    """What a service's outbox could not send."""

    name: LotName = "outbox"
    list_entries = _LIST
    show_entry = _SHOW
    ask_for_redrive = _REDRIVE
    give_up = _DISCARD
    why_not_redriven = _WHY_NOT_REDRIVEN
    why_not_discarded = _WHY_NOT_DISCARDED
    read = staticmethod(_entry)
