"""The evidence of one run: its tables, loaded when first asked for, and the indexes that invariants share.

Asking for a table that is missing or damaged raises Unusable, which the judge turns into UNKNOWN: an invariant cannot
pass by not looking. `replacing()` gives the same evidence with some tables changed, which is how canaries are planted;
nothing is ever changed in place.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from operator import attrgetter
from pathlib import Path
from typing import Any, Self, cast

from chaos.checker.complete import in_order, require_complete
from chaos.checker.lines import Unusable
from chaos.checker.load import Loader
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
    ParkedMessage,
    ParkedRow,
    Payment,
    ProcessMark,
    Revenue,
    SentEmail,
    StateCount,
)
from chaos.checker.rows import AGGREGATE_ID, EVENT_ID, ORDER_ID, grouped, outside
from chaos.checker.snapshot import Position
from chaos.checker.tables import TABLES


@dataclass(frozen=True, slots=True)
class RunFacts:
    """run.json, as far as the checker asks."""

    run: str = "?"
    scenario: str = "?"
    seed: int | None = None
    expect: Mapping[str, Any] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    guard_off: str | None = None
    canaries: bool = True
    ended: bool = True
    """False for a run that was cut off: nobody waited for what it still owed."""


class Evidence:
    """All tables of a run. Lists keep the order of their files; two rows with one key stay two rows."""

    def __init__(self, load: Callable[[str], list[Any]], run: RunFacts) -> None:
        """`load(name)` returns a table or raises Unusable; it is called once per table."""
        self._load = load
        self._tables: dict[str, list[Any] | Unusable] = {}
        self.run = run
        self.torn: Mapping[str, int] = {}

    @classmethod
    def of(cls, directory: Path, omitting: frozenset[str] = frozenset()) -> Evidence:
        """Open an evidence directory. Raises Unusable when run.json is missing or damaged.

        `omitting` names columns of the log that nobody will ask for; a rule that does breaks down, and is UNKNOWN.
        """
        loader, run = Loader(directory, omitting), read_run(directory)
        evidence = cls(partial(_table, loader, run), run)
        evidence.torn = loader.torn
        return evidence

    def replacing(self, **tables: list[Any]) -> Self:
        """Return this evidence with some tables replaced; the others are shared."""
        other = type(self)(self.table, self.run)
        other._tables = {**self._tables, **tables}
        return other

    def expecting(self, **expect: object) -> Self:
        """Return the same evidence of a run whose scenario expects this as well."""
        other = self.replacing()
        other.run = replace(self.run, expect={**self.run.expect, **expect})
        return other

    def table(self, name: str) -> list[Any]:
        if name not in self._tables:
            self._tables[name] = self._loaded(name)
        found = self._tables[name]
        if isinstance(found, Unusable):
            raise found
        return found

    def _loaded(self, name: str) -> list[Any] | Unusable:
        try:
            return self._load(name)
        except Unusable as missing:
            return missing

    def forget(self, *names: str) -> None:
        """Let go of tables that nobody is expected to ask for again, and of every index. Whoever does loads anew."""
        for name in names:
            self._tables.pop(name, None)
        for index in [name for name in vars(self) if isinstance(getattr(type(self), name, None), cached_property)]:
            delattr(self, index)

    def has(self, name: str) -> bool:
        try:
            self.table(name)
        except Unusable:
            return False
        return True

    # The tables, by name.

    @property
    def intents(self) -> list[Intent]:
        return self.table("intents")

    @property
    def orders(self) -> list[Order]:
        return self.table("orders")

    @property
    def keys(self) -> list[IdempotencyKey]:
        return self.table("keys")

    @property
    def events(self) -> list[Event]:
        return self.table("events")

    @property
    def lanes(self) -> list[Lane]:
        return self.table("lanes")

    @property
    def parked_rows(self) -> list[ParkedRow]:
        return self.table("parked_rows")

    @property
    def parked_messages(self) -> list[ParkedMessage]:
        return self.table("parked_messages")

    @property
    def copies(self) -> list[Copy]:
        return self.table("copies")

    @property
    def inbox(self) -> list[Applied]:
        return self.table("inbox")

    @property
    def deliveries(self) -> list[Delivery]:
        return self.table("deliveries")

    @property
    def bills(self) -> list[Bill]:
        return self.table("bills")

    @property
    def payments(self) -> list[Payment]:
        return self.table("payments")

    @property
    def invoices(self) -> list[Invoice]:
        return self.table("invoices")

    @property
    def credit_notes(self) -> list[CreditNote]:
        return self.table("credit_notes")

    @property
    def number_series(self) -> list[NumberSeries]:
        return self.table("number_series")

    @property
    def revenue(self) -> list[Revenue]:
        return self.table("revenue")

    @property
    def state_counts(self) -> list[StateCount]:
        return self.table("state_counts")

    @property
    def day_counts(self) -> list[DayCount]:
        return self.table("day_counts")

    @property
    def ordered_skus(self) -> list[OrderedSku]:
        return self.table("ordered_skus")

    @property
    def sent_emails(self) -> list[SentEmail]:
        return self.table("sent_emails")

    @property
    def mails(self) -> list[Mail]:
        return self.table("mails")

    @property
    def faults(self) -> list[FaultMark]:
        return self.table("faults")

    @property
    def processes(self) -> list[ProcessMark]:
        return self.table("processes")

    @property
    def marks(self) -> list[Mark]:
        return self.table("marks")

    # The indexes that several invariants need.

    @cached_property
    def order_of(self) -> dict[str, Order]:
        return {order.order_id: order for order in self.orders}

    @cached_property
    def attempts_of(self) -> dict[str, list[Intent]]:
        """The attempts on each order, by the client's own name for it."""
        return grouped(self.intents, attrgetter("order_ref"))

    @cached_property
    def event_of(self) -> dict[str, Event]:
        return {event.event_id: event for event in self.events}

    @cached_property
    def event_at(self) -> dict[tuple[str, int], Event]:
        """Database and id of an outbox row → its event."""
        return {(event.database, event.id): event for event in self.events}

    @cached_property
    def events_of_order(self) -> dict[str, list[Event]]:
        """The events of each order aggregate, as the outbox lists them."""
        return grouped((e for e in self.events if e.aggregate_type == "order"), AGGREGATE_ID)

    @cached_property
    def first_copies(self) -> dict[str, Copy]:
        """The first copy of each event, as the log lists them."""
        first: dict[str | None, Copy] = {}
        deque(map(first.setdefault, map(EVENT_ID, self.copies), self.copies), maxlen=0)
        first.pop(None, None)
        return cast(dict[str, Copy], first)

    def firsts(self, kind: str) -> list[Copy]:
        """Return the first copies of all events of a type."""
        return self._firsts_of_type.get(kind, [])

    @cached_property
    def _firsts_of_type(self) -> dict[str | None, list[Copy]]:
        return grouped(self.first_copies.values(), attrgetter("type"))

    @cached_property
    def invoices_of(self) -> dict[str, list[Invoice]]:
        return grouped(self.invoices, ORDER_ID)

    @cached_property
    def credit_notes_of(self) -> dict[str, list[CreditNote]]:
        return grouped(self.credit_notes, ORDER_ID)

    @cached_property
    def inbox_of(self) -> dict[str, list[Applied]]:
        return grouped(self.inbox, attrgetter("group"))

    @cached_property
    def mark_of(self) -> dict[tuple[str, str, int], Mark]:
        return {(mark.group, mark.topic, mark.partition): mark for mark in self.marks}

    @cached_property
    def positions(self) -> dict[tuple[str, str, int], Position]:
        """Database, destination and lane → position. Raises Unusable for a snapshot that is none."""
        try:
            return {(lane.database, lane.destination, lane.lane): Position.of(lane) for lane in self.lanes}
        except ValueError as error:
            raise Unusable(f"a relay position holds no snapshot: {error}") from error

    @cached_property
    def parked_event_ids(self) -> frozenset[str]:
        """Events that a relay has parked or holds behind a parked one."""
        rows = {(row.database, row.outbox_id) for row in self.parked_rows}
        if not rows:
            return frozenset()
        return frozenset(event.event_id for event in self.events if (event.database, event.id) in rows)

    @cached_property
    def set_aside(self) -> frozenset[tuple[str, str]]:
        """Consumer, and event id or place, of each message that a consumer has parked."""
        named = ((message.consumer, name) for message in self.parked_messages for name in message[1:])
        return frozenset((consumer, name) for consumer, name in named if name is not None)

    @cached_property
    def copies_of_topic(self) -> dict[str, list[Copy]]:
        return grouped(self.copies, attrgetter("topic"))

    def inbox_rows(self, group: str) -> list[Applied]:
        """Return what a group has taken; nothing for a group without an inbox."""
        return self.inbox_of.get(group, [])

    @cached_property
    def unapplied(self) -> list[tuple[str, Copy]]:
        """Group and first copy of each event below a committed offset that is neither applied nor excused."""
        return [found for group, topics in self.run.groups.items() for found in self._unapplied_by(group, topics)]

    def _unapplied_by(self, group: str, topics: tuple[str, ...]) -> Iterator[tuple[str, Copy]]:
        poisoned, set_aside = self.poisoned, self.set_aside
        committed = {(m.topic, m.partition): m.committed or 0 for m in self.marks if m.group == group}
        reported: set[str | None] = set()
        copies = [copy for topic in topics for copy in self.copies_of_topic.get(topic, ())]
        for copy in outside(copies, EVENT_ID, {*map(EVENT_ID, self.inbox_rows(group))}):
            if copy.offset >= committed.get((copy.topic, copy.partition), 0) or copy.event_id in reported:
                continue
            if not set_aside.isdisjoint(((group, copy.event_id), (group, copy.spot))) or not poisoned.isdisjoint(
                (copy.aggregate_id, copy.spot)
            ):
                continue
            reported.add(copy.event_id)
            yield group, copy

    @cached_property
    def poisoned(self) -> frozenset[str]:
        """What the scenario spoiled: the events, aggregates and places it names, and the aggregates of such events."""
        named = frozenset(self.run.expect.get("poisoned", ()))
        if not named:
            return named
        spoiled = {e.aggregate_id for e in self.events if e.event_id in named}
        spoiled |= {c.aggregate_id for c in self.copies if c.event_id in named and c.aggregate_id is not None}
        return named | spoiled


def _table(loader: Loader, run: RunFacts, name: str) -> list[Any]:
    table = TABLES[name](loader)
    if name != "copies":
        return table
    table = in_order(table)
    if not run.expect.get("log_gaps"):
        require_complete(table, _marks_if_any(loader))
    return table


def _marks_if_any(loader: Loader) -> list[Mark]:
    try:
        return TABLES["marks"](loader)
    except Unusable:
        return []


def read_run(directory: Path) -> RunFacts:
    """Read run.json. Raises Unusable when it is missing or damaged."""
    document = Loader(directory).document("run.json")
    try:
        return RunFacts(
            run=document["run"],
            scenario=document["scenario"],
            seed=document.get("seed"),
            expect=dict(document.get("expect") or {}),
            groups={group: tuple(topics) for group, topics in (document.get("groups") or {}).items()},
            guard_off=document.get("guard_off"),
            canaries=bool(document.get("canaries", True)),
            ended=document.get("ended_at") is not None,
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise Unusable(f"run.json cannot be used: {error!r}") from error
