"""Turn the files of an evidence directory into tables of the checker's records, one loader a table.

Each loader returns the whole table and raises Unusable, with the file's name, when the file is missing, damaged, or
lacks a field. Equal ids are kept once in memory: they come back in every table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from chaos.checker.lines import Lines, Row, Unusable
from chaos.checker.records import (
    Applied,
    Bill,
    Copy,
    CreditNote,
    Delivery,
    Event,
    Facts,
    FaultMark,
    IdempotencyKey,
    Intent,
    Invoice,
    Lane,
    Mail,
    Mark,
    NumberSeries,
    Order,
    ParkedMessage,
    ParkedRow,
    Payment,
    ProcessMark,
    Revenue,
    SentEmail,
    StateCount,
)

Table = list[Any]

DIGEST_BYTES = 16
SCAN = json.JSONDecoder().raw_decode
"""`json.loads` spends as long on its preliminaries as on a payload."""
NO_FACTS = Facts(None, None, None, None)
TELLING = frozenset({"OrderPlaced", "OrderCancelled", "InvoiceIssued", "PaymentDeclined", "CreditNoteIssued"})
REPEATED = frozenset({"order_id", "customer_id", "event_id", "currency", "state", "status", "series", "invoice_number"})
"""Columns whose values stand in many rows or tables."""
OUTBOXES = ("orders", "billing")
INBOXES = ("orders", "billing", "analytics")
PARKING_LOTS = ("orders", "billing", "analytics")


class Loader:
    """Loads tables by name from one directory, and remembers how many torn lines it met in which file."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.torn: dict[str, int] = {}
        self._pool: dict[str, str] = {}

    def table(self, name: str) -> Table:
        """Load a table of `TABLES`. Raises Unusable."""
        return TABLES[name](self)

    def rows(self, file: str, build: Callable[[list[Row]], list[Any]]) -> Table:
        lines = Lines(self.directory / file)
        table: Table = []
        try:
            for piece in lines.pieces():
                table += build(piece)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise Unusable(f"{file} has a row that cannot be used: {error!r}") from error
        if lines.torn:
            self.torn[file] = lines.torn
        return table

    def document(self, file: str) -> Any:
        path = self.directory / file
        if not path.exists():
            raise Unusable(f"{file} is missing")
        try:
            return json.loads(path.read_bytes())
        except ValueError as error:
            raise Unusable(f"{file} is damaged: {error}") from error

    def same(self, text: str) -> str:
        """Return the one copy of an id that all tables share."""
        return self._pool.setdefault(text, text)

    def same_if_any(self, text: str | None) -> str | None:
        return None if text is None else self._pool.setdefault(text, text)


def _intents(load: Loader) -> Table:
    same, maybe = load.same, load.same_if_any
    attempts = load.rows(
        "intents.jsonl",
        lambda rows: [
            Intent(
                r["n"], same(r["op"]), r.get("key"), same(r["customer_id"]), r["order_ref"], maybe(r.get("order_id")),
                maybe(r.get("currency")), r.get("amount_minor"), maybe(r.get("expect")), r["started_at"],
                same(r["result"]), bool(r.get("replayed")),
            )
            for r in rows
        ],
    )  # fmt: skip
    return list({attempt.n: attempt for attempt in attempts}.values())


def _events(load: Loader) -> Table:
    return [event for database in OUTBOXES for event in _outbox(load, database)]


def _outbox(load: Loader, database: str) -> Table:
    same = load.same
    return load.rows(
        f"db/{database}/outbox.jsonl",
        lambda rows: [
            Event(
                database, int(r["xid"]), r["id"], same(r["event_id"]), same(r["aggregate_type"]),
                same(r["aggregate_id"]), r["aggregate_version"], r["lane"], same(r["destination"]), same(r["type"]),
                _digest(r["payload"]), r["occurred_at"],
            )
            for r in rows
        ],
    )  # fmt: skip


def _digest(payload: str) -> bytes:
    raw = bytes.fromhex(payload[2:]) if payload.startswith("\\x") else payload.encode()
    return sha256(raw).digest()[:DIGEST_BYTES]


def _copies(load: Loader) -> Table:
    same = load.same
    seen: dict[str, tuple[bytes, Facts]] = {}
    return load.rows("log.jsonl", lambda rows: [_copy(r, same, seen) for r in rows])


def _copy(r: Row, same: Callable[[str], str], seen: dict[str, tuple[bytes, Facts]]) -> Copy:
    event_id, kind, payload = r.get("event_id"), r.get("type"), r.get("payload")
    digest = _digest_of_copy(payload, r["sha256"])
    facts = NO_FACTS
    if event_id is not None:
        event_id = same(event_id)
        earlier = seen.get(event_id)
        # Copies of an event share what the first one said, unless this one says something else.
        if earlier is not None and earlier[0] == digest:
            digest, facts = earlier
        elif payload is not None and kind in TELLING:
            facts = _facts(payload, same)
        if earlier is None:
            seen[event_id] = digest, facts
    aggregate_type, aggregate_id = r.get("aggregate_type"), r.get("aggregate_id")
    return Copy(
        same(r["topic"]), r["partition"], r["offset"], event_id, same(kind) if kind else None,
        same(aggregate_type) if aggregate_type else None, same(aggregate_id) if aggregate_id else None,
        r.get("aggregate_version"), digest, facts, r.get("timestamp"),
    )  # fmt: skip


def _digest_of_copy(payload: str | None, claimed: str) -> bytes:
    """Return the digest of what was archived; one that agrees with nothing when the archiver contradicts itself."""
    if payload is None:
        return bytes.fromhex(claimed)[:DIGEST_BYTES]
    digest = sha256(payload.encode())
    if digest.hexdigest() != claimed:
        return digest.digest()[:DIGEST_BYTES] + bytes.fromhex(claimed)[:DIGEST_BYTES]
    return digest.digest()[:DIGEST_BYTES]


def _facts(payload: str, same: Callable[[str], str]) -> Facts:
    try:
        said, _end = SCAN(payload)
        currency, reason, issued_at = said.get("currency"), said.get("reason"), said.get("issued_at")
        return Facts(
            same(currency) if currency else None, said.get("amount_minor"), same(reason) if reason else None,
            same(day_of(issued_at)) if issued_at else None,
        )  # fmt: skip
    except (ValueError, AttributeError, TypeError):
        # A payload that nobody can read tells nothing; that it was parked or not is S12's and S25's to judge.
        return NO_FACTS


def day_of(timestamp: str) -> str:
    """Return the UTC day of a timestamp."""
    if timestamp.endswith(("Z", "+00:00")):
        return timestamp[:10]
    return datetime.fromisoformat(timestamp).astimezone(UTC).date().isoformat()


def _inbox(load: Loader) -> Table:
    same = load.same

    def build(rows: list[Row]) -> list[Applied]:
        return [
            Applied(
                same(r["consumer"]), same(r["event_id"]), same(r["topic"]), r["partition"], r["offset"],
                same(r["member"]), r["generation"], same(r["aggregate_id"]), r["aggregate_version"], r["applied_at"],
            )
            for r in rows
        ]  # fmt: skip

    return [row for database in INBOXES for row in load.rows(f"db/{database}/inbox.jsonl", build)]


def _deliveries(load: Loader) -> Table:
    same = load.same
    return load.rows(
        "deliveries.jsonl",
        lambda rows: [
            Delivery(
                same(r["group"]), same(r["topic"]), r["partition"], r["offset"], r.get("last_offset") or r["offset"],
                same(r["instance"]), same(r["member"]), r["generation"], r["at"], r["duplicate"],
            )
            for r in rows
        ],
    )  # fmt: skip


def _lanes(load: Loader) -> Table:
    return [lane for database in OUTBOXES for lane in _lanes_of(load, database)]


def _lanes_of(load: Loader, database: str) -> Iterator[Lane]:
    positions = {r["position_id"]: r for r in load.rows(f"db/{database}/relay_position.jsonl", list)}
    for row in load.rows(f"db/{database}/relay_lane.jsonl", list):
        position = positions.get(row["position_id"])
        if position is None:
            raise Unusable(f"db/{database}/relay_lane.jsonl names position {row['position_id']}, which is not there")
        yield Lane(
            database, row["destination"], row["lane"], position["done"], position.get("target"),
            position.get("after_id") or 0,
        )  # fmt: skip


def _parked_rows(load: Loader) -> Table:
    return [
        ParkedRow(database, r["outbox_id"], r["state"], r.get("last_error") or "")
        for database in OUTBOXES
        for r in load.rows(f"db/{database}/outbox_parked.jsonl", list)
    ]


def _parked_messages(load: Loader) -> Table:
    """A system without a parking lot for messages has no such table, so a missing file is an empty one here."""
    present = [database for database in PARKING_LOTS if (load.directory / f"db/{database}/parked.jsonl").exists()]
    return [
        ParkedMessage(r["consumer"], load.same(r["event_id"]))
        for database in present
        for r in load.rows(f"db/{database}/parked.jsonl", list)
    ]


def _mails(load: Loader) -> Table:
    return load.rows(
        "mail.jsonl",
        lambda rows: [
            Mail(r["at"], key_of(r["message_id"]), r["recipient"], r.get("order_id"), r.get("invoice_number"))
            for r in rows
        ],
    )


def key_of(message_id: str) -> str:
    """Return the key in a Message-ID: what stands before the @, without brackets."""
    return message_id.strip("<>").partition("@")[0]


def _marks(load: Loader) -> Table:
    document = load.document("offsets.json")
    try:
        return [
            Mark(group, topic, int(partition), mark["committed"], mark["low"], mark["end"])
            for group, topics in document.items()
            for topic, partitions in topics.items()
            for partition, mark in partitions.items()
        ]
    except (KeyError, ValueError, AttributeError, TypeError) as error:
        raise Unusable(f"offsets.json has an entry that cannot be used: {error!r}") from error


def _simple(
    file: str, kind: Callable[..., Any], *needed: str, optional: tuple[str, ...] = ()
) -> Callable[[Loader], Table]:
    """Return a loader for a table whose columns are taken over as they stand, the needed ones first."""

    def load(loader: Loader) -> Table:
        shared = [place for place, column in enumerate((*needed, *optional)) if column in REPEATED]

        def build(row: Row) -> Any:
            values = [*[row[column] for column in needed], *[row.get(column) for column in optional]]
            for place in shared:
                values[place] = loader.same_if_any(values[place])
            return kind(*values)

        return loader.rows(file, lambda rows: [build(row) for row in rows])

    return load


TABLES: Mapping[str, Callable[[Loader], Table]] = {
    "intents": _intents,
    "orders": _simple(
        "db/orders/orders.jsonl", Order,
        "order_id", "customer_id", "currency", "amount_minor", "state", "version", optional=("invoice_number",),
    ),
    "keys": _simple("db/orders/idempotency_key.jsonl", IdempotencyKey, "customer_id", "key", "order_id"),
    "events": _events,
    "lanes": _lanes,
    "parked_rows": _parked_rows,
    "parked_messages": _parked_messages,
    "copies": _copies,
    "inbox": _inbox,
    "deliveries": _deliveries,
    "bills": _simple("db/billing/bill.jsonl", Bill, "order_id", "state", "currency", "amount_minor"),
    "payments": _simple("db/billing/payment.jsonl", Payment, "order_id", "status", "currency", "amount_minor"),
    "invoices": _simple(
        "db/billing/invoice.jsonl", Invoice,
        "number", "series", "year", "sequence", "order_id", "currency", "amount_minor", "event_id", "applied_at",
    ),
    "credit_notes": _simple(
        "db/billing/credit_note.jsonl", CreditNote,
        "number", "series", "year", "sequence", "order_id", "currency", "amount_minor", "invoice_number",
        optional=("issued_at",),
    ),
    "number_series": _simple("db/billing/number_series.jsonl", NumberSeries, "series", "year", "next_sequence"),
    "revenue": _simple(
        "db/analytics/revenue.jsonl", Revenue, "day", "currency", "invoices", "amount_minor", "credited_minor"
    ),
    "state_counts": _simple("db/analytics/orders_by_state.jsonl", StateCount, "state", "orders"),
    "sent_emails": _simple("db/notifications/sent_email.jsonl", SentEmail, "event_id", "order_id", "state"),
    "mails": _mails,
    "faults": _simple(
        "faults.jsonl", FaultMark, "fault", optional=("act", "phase", "at", "target", "failpoint", "detail")
    ),
    "processes": _simple("processes.jsonl", ProcessMark, "at", "instance", "what"),
    "marks": _marks,
}  # fmt: skip
