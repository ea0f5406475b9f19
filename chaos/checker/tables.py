"""The tables of the evidence by name: from which file each comes, and which of its columns are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from chaos.checker.columns import REPEATED, Columns, Pool, records, shared
from chaos.checker.columnwise import Columnwise
from chaos.checker.fields import Column, fields
from chaos.checker.lines import Unusable
from chaos.checker.load import Loader, Table
from chaos.checker.payloads import NO_FACTS, digests, digests_of_copies, facts_of
from chaos.checker.records import (
    Applied,
    Bill,
    Copy,
    CreditNote,
    DayCount,
    Delivery,
    Event,
    FaultMark,
    IdempotencyKey,
    Intent,
    Invoice,
    Lane,
    Mail,
    Mark,
    NumberSeries,
    Order,
    OrderedSku,
    OwnerMark,
    ParkedMessage,
    ParkedRow,
    Payment,
    ProcessMark,
    Revenue,
    SentEmail,
    StateCount,
)

OUTBOXES = ("orders", "billing")
INBOXES = ("orders", "billing", "analytics")
"""Those that have to be there. A service that was added is judged by the same rules, once its tables are."""

INTENT = Columns(
    Intent,
    ("n", "op", "customer_id", "order_ref", "started_at", "result"),
    ("order_id", "key", "currency", "amount_minor", "expect", "replayed", "ended_at", "status"),
    changed={"replayed": partial(map, bool)},
)
EVENT = Columns(
    Event,
    ("xid", "id", "event_id", "aggregate_type", "aggregate_id", "aggregate_version", "lane", "destination", "type",
     "payload", "occurred_at"),
    changed={"xid": partial(map, int), "payload": digests},
)  # fmt: skip
COPY = (
    "topic", "partition", "offset", "event_id", "type", "aggregate_type", "aggregate_id", "aggregate_version",
    "timestamp",
)  # fmt: skip
APPLIED = Columns(
    Applied,
    ("consumer", "event_id", "topic", "partition", "offset", "member", "generation", "aggregate_id",
     "aggregate_version", "applied_at"),
)  # fmt: skip
DELIVERED = Columns(
    Delivery,
    ("group", "topic", "partition", "offset", "instance", "member", "generation", "at", "duplicate"),
    ("last_offset",),
)
PAPER = ("number", "series", "year", "sequence", "order_id", "currency", "amount_minor")


def _having(load: Loader, table: str, known: Sequence[str]) -> Sequence[str]:
    """Name the databases that must have a table, and then every further one that has it."""
    found = sorted(file.parent.name for file in load.directory.glob(f"db/*/{table}.jsonl"))
    return (*known, *(name for name in found if name not in known))


def _intents(load: Loader) -> Table:
    attempts: list[Intent] = load.table("intents.jsonl", INTENT)
    return list({attempt.n: attempt for attempt in attempts}.values())


def _events(load: Loader) -> Columnwise[Event]:
    files = {
        f"db/{database}/outbox.jsonl": partial(replace(EVENT, always=(database,)).finished, pool=load.pool)
        for database in _having(load, "outbox", OUTBOXES)
    }
    return load.columnwise(Event, EVENT.fields, files)


def _copies(load: Loader) -> Columnwise[Copy]:
    needed = [name for name in ("topic", "partition", "offset", "sha256") if name not in load.omitting]
    optional = [name for name in (*COPY, "payload") if name not in needed and name not in load.omitting]
    finish = partial(_of_copies, load.pool, (*needed, *optional))
    return load.columnwise(Copy, fields(needed, optional), {"log.jsonl": finish})


def _of_copies(pool: Pool, names: Sequence[str], columns: Sequence[Column]) -> Sequence[Iterable[Any] | None]:
    said = dict(zip(names, columns, strict=True))
    copies = [shared(said[name], pool) if name in REPEATED and name in said else said.get(name) for name in COPY]
    if "payload" not in said:
        return [*copies, None, *[None] * len(NO_FACTS)]
    payloads = said["payload"]
    return [*copies, digests_of_copies(payloads, said["sha256"]), *facts_of(said["type"], payloads, pool)]


def _inbox(load: Loader) -> Columnwise[Applied]:
    finish = partial(APPLIED.finished, pool=load.pool)
    files = {f"db/{database}/inbox.jsonl": finish for database in _having(load, "inbox", INBOXES)}
    return load.columnwise(Applied, APPLIED.fields, files)


def _deliveries(load: Loader) -> Table:
    return load.built("deliveries.jsonl", DELIVERED.fields, partial(_of_deliveries, load.pool))


def _of_deliveries(pool: Pool, columns: Sequence[Column]) -> Iterable[Delivery]:
    """Let a line without `last_offset` stand for its one offset."""
    offsets, last_offsets = columns[DELIVERED.needed.index("offset")], columns[-1]
    *found, _last = DELIVERED.finished(columns, pool)
    found.insert(4, [offset if last is None else last for offset, last in zip(offsets, last_offsets, strict=True)])
    return records(Delivery, found)


def _lanes(load: Loader) -> Table:
    return [lane for database in _having(load, "outbox", OUTBOXES) for lane in _lanes_of(load, database)]


def _lanes_of(load: Loader, database: str) -> Iterator[Lane]:
    rows = load.rows(f"db/{database}/relay_position.jsonl", ("position_id", "done"), ("target", "after_id"))
    positions = {row["position_id"]: row for row in rows}
    for row in load.rows(f"db/{database}/relay_lane.jsonl", ("destination", "lane", "position_id")):
        position = positions.get(row["position_id"])
        if position is None:
            raise Unusable(f"db/{database}/relay_lane.jsonl names position {row['position_id']}, which is not there")
        yield Lane(
            database, row["destination"], row["lane"], position["done"], position["target"],
            position["after_id"] or 0,
        )  # fmt: skip


def _parked_rows(load: Loader) -> Table:
    return [
        ParkedRow(database, r["outbox_id"], r["state"], r["last_error"] or "")
        for database in _having(load, "outbox", OUTBOXES)
        for r in load.rows(f"db/{database}/outbox_parked.jsonl", ("outbox_id", "state"), ("last_error",))
    ]


def _parked_messages(load: Loader) -> Table:
    """A system without a parking lot for messages has no such table, so a missing file is an empty one here."""
    files = [f"db/{database}/inbox_parked.jsonl" for database in _having(load, "inbox", INBOXES)]
    return [
        ParkedMessage(
            r["consumer"], r["event_id"],
            f"{r['topic']}/{r['partition']}@{r['offset']}" if r["topic"] is not None else None,
        )
        for file in files
        if load.has(file)
        for r in load.rows(file, ("consumer",), ("event_id", "topic", "partition", "offset"))
    ]  # fmt: skip


def _keys_of(column: Sequence[str]) -> Iterable[str]:
    return map(key_of, column)


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


def _file(file: str, columns: Columns) -> Callable[[Loader], Table]:
    return lambda load: load.table(file, columns)


TABLES: Mapping[str, Callable[[Loader], Sequence[Any]]] = {
    "intents": _intents,
    "orders": _file("db/orders/orders.jsonl", Columns(
        Order, ("order_id", "customer_id", "currency", "amount_minor", "state", "version"), ("invoice_number",)
    )),
    "keys": _file("db/orders/idempotency_key.jsonl", Columns(IdempotencyKey, ("customer_id", "key", "order_id"))),
    "events": _events,
    "lanes": _lanes,
    "parked_rows": _parked_rows,
    "parked_messages": _parked_messages,
    "copies": _copies,
    "inbox": _inbox,
    "deliveries": _deliveries,
    "bills": _file("db/billing/bill.jsonl", Columns(Bill, ("order_id", "state", "currency", "amount_minor"))),
    "payments": _file("db/billing/payment.jsonl", Columns(
        Payment, ("order_id", "status", "currency", "amount_minor")
    )),
    "invoices": _file("db/billing/invoice.jsonl", Columns(Invoice, (*PAPER, "event_id", "applied_at"))),
    "credit_notes": _file("db/billing/credit_note.jsonl", Columns(
        CreditNote, (*PAPER, "invoice_number"), ("issued_at",)
    )),
    "number_series": _file("db/billing/number_series.jsonl", Columns(
        NumberSeries, ("series", "year", "next_sequence")
    )),
    "revenue": _file("db/analytics/revenue.jsonl", Columns(
        Revenue, ("day", "currency", "invoices", "amount_minor", "credited_minor")
    )),
    "state_counts": _file("db/analytics/orders_by_state.jsonl", Columns(StateCount, ("state", "orders"))),
    "day_counts": _file("db/analytics/orders_by_day.jsonl", Columns(
        DayCount, ("day", "currency", "state", "orders")
    )),
    "ordered_skus": _file("db/analytics/ordered_skus.jsonl", Columns(
        OrderedSku, ("currency", "sku", "orders", "quantity", "amount_minor")
    )),
    "sent_emails": _file("db/notifications/sent_email.jsonl", Columns(
        SentEmail, ("event_id", "order_id", "state")
    )),
    "mails": _file("mail.jsonl", Columns(
        Mail, ("at", "message_id", "recipient"), ("order_id", "invoice_number"), changed={"message_id": _keys_of}
    )),
    "faults": _file("faults.jsonl", Columns(
        FaultMark, ("fault", "phase", "at"), ("act", "target", "failpoint", "detail")
    )),
    "owners": _file("owners.jsonl", Columns(OwnerMark, ("at", "instance", "of", "unit", "what"))),
    "processes": _file("processes.jsonl", Columns(ProcessMark, ("at", "instance", "what"))),
    "marks": _marks,
}  # fmt: skip
"""Each loads its table; all raise Unusable."""
