"""The evidence of one run: its tables, loaded when first asked for, and the indexes that invariants share.

Asking for a table that is missing or damaged raises Unusable, which the judge turns into UNKNOWN: an invariant cannot
pass by not looking. `replacing()` gives the same evidence with some tables changed, which is how canaries are planted;
nothing is ever changed in place.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import compress, count, groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, Self

from chaos.checker.columnwise import ByKey, Columnwise, Place, but_not, places_of
from chaos.checker.complete import in_order
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
from chaos.checker.rows import ORDER_ID, grouped
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

    def __init__(self, load: Callable[[str], Sequence[Any]], run: RunFacts) -> None:
        """`load(name)` returns a table or raises Unusable; it is called once per table."""
        self._load = load
        self._tables: dict[str, Sequence[Any] | Unusable] = {}
        self.run = run
        self.torn: Mapping[str, int] = {}

    @classmethod
    def of(cls, directory: Path, omitting: frozenset[str] = frozenset()) -> Evidence:
        """Open an evidence directory. Raises Unusable when run.json is missing or damaged.

        `omitting` names fields of the log that nobody will ask for; a rule that does breaks down, and is UNKNOWN.
        """
        loader, run = Loader(directory, omitting), read_run(directory)
        evidence = cls(partial(_table, loader, run), run)
        evidence.torn = loader.torn
        return evidence

    def replacing(self, **tables: Sequence[Any]) -> Self:
        """Return this evidence with some tables replaced; the others are shared."""
        other = type(self)(self.table, self.run)
        other._tables = {**self._tables, **{name: kept(name, rows) for name, rows in tables.items()}}
        return other

    def expecting(self, **expect: object) -> Self:
        """Return the same evidence of a run whose scenario expects this as well."""
        other = self.replacing()
        other.run = replace(self.run, expect={**self.run.expect, **expect})
        return other

    def table(self, name: str) -> Sequence[Any]:
        """Return a list of records, or a Columnwise of them. Raises Unusable."""
        if name not in self._tables:
            self._tables[name] = self._loaded(name)
        found = self._tables[name]
        if isinstance(found, Unusable):
            raise found
        return found

    def _loaded(self, name: str) -> Sequence[Any] | Unusable:
        try:
            return kept(name, self._load(name))
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

    def _columnwise(self, name: str) -> Columnwise[Any]:
        rows = self.table(name)
        assert isinstance(rows, Columnwise)
        return rows

    # The tables, by name.

    @property
    def intents(self) -> Sequence[Intent]:
        return self.table("intents")

    @property
    def orders(self) -> Sequence[Order]:
        return self.table("orders")

    @property
    def keys(self) -> Sequence[IdempotencyKey]:
        return self.table("keys")

    @property
    def events(self) -> Columnwise[Event]:
        return self._columnwise("events")

    @property
    def lanes(self) -> Sequence[Lane]:
        return self.table("lanes")

    @property
    def parked_rows(self) -> Sequence[ParkedRow]:
        return self.table("parked_rows")

    @property
    def parked_messages(self) -> Sequence[ParkedMessage]:
        return self.table("parked_messages")

    @property
    def copies(self) -> Columnwise[Copy]:
        return self._columnwise("copies")

    @property
    def inbox(self) -> Columnwise[Applied]:
        return self._columnwise("inbox")

    @property
    def deliveries(self) -> Sequence[Delivery]:
        return self.table("deliveries")

    @property
    def bills(self) -> Sequence[Bill]:
        return self.table("bills")

    @property
    def payments(self) -> Sequence[Payment]:
        return self.table("payments")

    @property
    def invoices(self) -> Sequence[Invoice]:
        return self.table("invoices")

    @property
    def credit_notes(self) -> Sequence[CreditNote]:
        return self.table("credit_notes")

    @property
    def number_series(self) -> Sequence[NumberSeries]:
        return self.table("number_series")

    @property
    def revenue(self) -> Sequence[Revenue]:
        return self.table("revenue")

    @property
    def state_counts(self) -> Sequence[StateCount]:
        return self.table("state_counts")

    @property
    def day_counts(self) -> Sequence[DayCount]:
        return self.table("day_counts")

    @property
    def ordered_skus(self) -> Sequence[OrderedSku]:
        return self.table("ordered_skus")

    @property
    def sent_emails(self) -> Sequence[SentEmail]:
        return self.table("sent_emails")

    @property
    def mails(self) -> Sequence[Mail]:
        return self.table("mails")

    @property
    def faults(self) -> Sequence[FaultMark]:
        return self.table("faults")

    @property
    def processes(self) -> Sequence[ProcessMark]:
        return self.table("processes")

    @property
    def marks(self) -> Sequence[Mark]:
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
    def event_of(self) -> ByKey[str, Event]:
        return ByKey(self.events, dict(zip(self.events.column("event_id"), count(), strict=False)))

    @cached_property
    def event_at(self) -> ByKey[tuple[str, int], Event]:
        """Database and id of an outbox row → its event."""
        return ByKey(self.events, dict(zip(self.events.columns("database", "id"), count(), strict=False)))

    @cached_property
    def events_of_order(self) -> dict[str, list[Place]]:
        """Where the events of each order aggregate are, as the outbox lists them."""
        places: dict[str, list[Place]] = defaultdict(list)
        for place, (kind, aggregate_id) in enumerate(self.events.columns("aggregate_type", "aggregate_id")):
            if kind == "order":
                places[aggregate_id].append(place)
        return dict(places)

    @cached_property
    def unpublished(self) -> list[Event]:
        """The events that are neither in the log nor parked."""
        events, parked = self.events, self.parked_event_ids
        are_events = map("event".__eq__, events.column("destination"))
        in_log = map(self.first_copies.places.__contains__, events.column("event_id"))
        missing = events.at(places_of(but_not(are_events, in_log)))
        return [event for event in missing if event.event_id not in parked]

    @cached_property
    def first_copies(self) -> ByKey[str, Copy]:
        """The first copy of each event, as the log lists them."""
        first: dict[Any, Place] = {}
        deque(map(first.setdefault, self.copies.column("event_id"), count()), maxlen=0)
        first.pop(None, None)
        return ByKey(self.copies, first)

    def firsts(self, kind: str) -> Sequence[Place]:
        """Return where the first copies of all events of a type are."""
        return self.firsts_of_type.get(kind, [])

    @cached_property
    def firsts_of_type(self) -> dict[str | None, list[Place]]:
        kinds, places = self.copies.column("type"), self.first_copies.places.values()
        return grouped(places, kinds.__getitem__)

    @cached_property
    def invoices_of(self) -> dict[str, list[Invoice]]:
        return grouped(self.invoices, ORDER_ID)

    @cached_property
    def credit_notes_of(self) -> dict[str, list[CreditNote]]:
        return grouped(self.credit_notes, ORDER_ID)

    @cached_property
    def inbox_of(self) -> dict[str, list[slice]]:
        """The stretches of the inbox that are a group's."""
        stretches: dict[str, list[slice]] = defaultdict(list)
        begin = 0
        for group, rows in groupby(self.inbox.column("group")):
            end = begin + len([*rows])
            stretches[group].append(slice(begin, end))
            begin = end
        return dict(stretches)

    def applied(self, group: str, *names: str) -> Iterator[tuple[Any, ...]]:
        """Yield some columns of what a group has taken; nothing for a group without an inbox."""
        columns = [self.inbox.column(name) for name in names]
        for stretch in self.inbox_of.get(group, ()):
            yield from zip(*(column[stretch] for column in columns), strict=True)

    @cached_property
    def applied_ids(self) -> dict[str, set[str]]:
        """The events that each group has taken."""
        ids = self.inbox.column("event_id")
        return {group: set().union(*(ids[each] for each in found)) for group, found in self.inbox_of.items()}

    def has_applied(self, group: str, event_id: str | None) -> bool:
        return event_id in self.applied_ids.get(group, ())

    def times_applied(self, group: str) -> int:
        """Return how many rows a group's inbox has."""
        return sum(stretch.stop - stretch.start for stretch in self.inbox_of[group])

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
    def ids_of_topic(self) -> dict[str, set[str | None]]:
        """The events of which a topic has a copy; None for what cannot be read."""
        topics, ids = self.copies.column("topic"), self.copies.column("event_id")
        return {topic: {*compress(ids, map(topic.__eq__, topics))} for topic in {*topics}}

    @cached_property
    def unapplied(self) -> list[tuple[str, Copy]]:
        """Group and first copy of each event below a committed offset that is neither applied nor excused."""
        return [found for group, topics in self.run.groups.items() for found in self._unapplied_by(group, topics)]

    def _unapplied_by(self, group: str, topics: tuple[str, ...]) -> Iterator[tuple[str, Copy]]:
        poisoned, set_aside = self.poisoned, self.set_aside
        committed = {(m.topic, m.partition): m.committed or 0 for m in self.marks if m.group == group}
        reported: set[str | None] = set()
        for copy in self._not_applied_by(group, topics):
            if copy.offset >= committed.get((copy.topic, copy.partition), 0) or copy.event_id in reported:
                continue
            if not set_aside.isdisjoint(((group, copy.event_id), (group, copy.spot))) or not poisoned.isdisjoint(
                (copy.aggregate_id, copy.spot)
            ):
                continue
            reported.add(copy.event_id)
            yield group, copy

    def _not_applied_by(self, group: str, topics: tuple[str, ...]) -> Iterator[Copy]:
        """Yield every copy of the events in these topics that a group has not taken, topic by topic."""
        applied = self.applied_ids.get(group, set())
        for topic in topics:
            missing = self.ids_of_topic.get(topic, set()) - applied
            if missing:
                yield from (copy for copy in self.copies.among("event_id", missing) if copy.topic == topic)

    @cached_property
    def poisoned(self) -> frozenset[str]:
        """What the scenario spoiled: the events, aggregates and places it names, and the aggregates of such events."""
        named = frozenset(self.run.expect.get("poisoned", ()))
        if not named:
            return named
        spoiled = {event.aggregate_id for event in self.events.among("event_id", named)}
        of_copies = (copy.aggregate_id for copy in self.copies.among("event_id", named))
        spoiled |= {aggregate_id for aggregate_id in of_copies if aggregate_id is not None}
        return named | spoiled


KINDS: Mapping[str, type[Any]] = {"events": Event, "copies": Copy, "inbox": Applied}
"""The tables of millions of rows, which are kept column by column."""


def kept(name: str, rows: Sequence[Any]) -> Sequence[Any]:
    """Return a table as it is kept."""
    return Columnwise.of(KINDS[name], rows) if name in KINDS and not isinstance(rows, Columnwise) else rows


def _table(loader: Loader, run: RunFacts, name: str) -> Sequence[Any]:
    table = TABLES[name](loader)
    if not isinstance(table, Columnwise) or name != "copies":
        return table
    return in_order(table, _marks_if_any(loader), gaps=bool(run.expect.get("log_gaps")))


def _marks_if_any(loader: Loader) -> Sequence[Mark]:
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
