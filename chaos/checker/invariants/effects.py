"""S10, S12, S17, S20, S22, S25: what the consumer groups made of the log.

A group's inbox row says which copy of an event took effect, and through which member. Deliveries beyond the first
are normal and leave no row.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from gettext import gettext as _
from itertools import compress, pairwise
from operator import attrgetter, not_

from chaos.checker.columnwise import Columnwise, Place, places_of
from chaos.checker.evidence import Evidence
from chaos.checker.finding import Counterexample
from chaos.checker.invariants.log import place
from chaos.checker.lines import Unusable
from chaos.checker.records import Applied
from chaos.checker.rows import ORDER_ID, grouped

History = tuple[str, str, str]
"""Group, topic and aggregate."""


def effect_order(evidence: Evidence) -> Iterator[Counterexample]:
    """S10: each group applies an aggregate's events in the order 1, 2, 3, ..."""
    require_provenance(evidence)
    poisoned = evidence.poisoned
    for (group, topic, aggregate_id), rows in _not_obviously_in_order(evidence.inbox).items():
        problem = _disorder(rows)
        if problem and aggregate_id not in poisoned:
            yield Counterexample(
                _("group {group} applied the events of {aggregate} from {topic} out of order: {problem}").format(
                    group=group, aggregate=aggregate_id, topic=topic, problem=problem
                ),
                aggregate_id,
                rows[0].event_id,
            )


def _not_obviously_in_order(inbox: Columnwise[Applied]) -> dict[History, list[Applied]]:
    """Return the histories but for those whose rows stand as they should by themselves.

    Nearly all do; looking closely at a hundred thousand of them takes longer than anything else here.
    """
    doubtful = {*_doubtful(inbox)}
    if not doubtful:
        return {}
    rows = inbox.at(places_of(map(doubtful.__contains__, inbox.columns("group", "topic", "aggregate_id"))))
    return grouped(rows, attrgetter("group", "topic", "aggregate_id"))


def _doubtful(inbox: Columnwise[Applied]) -> Iterator[History]:
    """Yield the histories with a row that is not one version, higher offset and no earlier time beyond the last one."""
    versions, offsets, times = map(inbox.column, ("version", "offset", "applied_at"))
    latest: dict[tuple[str, str], dict[str, Place]] = defaultdict(dict)
    rows = inbox.columns("group", "topic", "aggregate_id", "version")
    for here, (group, topic, aggregate_id, version) in enumerate(rows):
        of_aggregate = latest[group, topic]
        before = of_aggregate.get(aggregate_id)
        of_aggregate[aggregate_id] = here
        if before is None:
            follows = version == 1
        else:
            follows = version == versions[before] + 1
            follows = follows and offsets[before] < offsets[here] and times[before] <= times[here]
        if not follows:
            yield group, topic, aggregate_id


def _disorder(rows: list[Applied]) -> str | None:
    rows = sorted(rows, key=lambda row: row.version)
    versions = [row.version for row in rows]
    if versions != list(range(1, len(rows) + 1)):
        return _("it has versions {versions}").format(versions=versions)
    for earlier, later in pairwise(rows):
        if not _follows(earlier, later):
            return _("v{later} before v{earlier}").format(later=later.version, earlier=earlier.version)
    return None


def _follows(earlier: Applied, later: Applied) -> bool:
    """Say whether `later` took effect after `earlier`.

    A member applies a partition in offset order, but writes the inbox rows of one batch in any order, so times decide
    only between different members, generations or partitions.
    """
    one_reader = (earlier.member, earlier.generation, earlier.partition) == (
        later.member, later.generation, later.partition,
    )  # fmt: skip
    if one_reader:
        return earlier.offset < later.offset
    return earlier.applied_at <= later.applied_at


def require_provenance(evidence: Evidence) -> None:
    """Raise Unusable where a group has consumed and nothing says how it applied what it consumed."""
    for group in evidence.run.groups:
        if group not in evidence.inbox_of and any(mark.committed for mark in evidence.marks if mark.group == group):
            raise Unusable(
                _("group {group} has consumed messages and keeps no inbox: how it applied them is not recorded").format(
                    group=group
                )
            )


def placed_has_outcome(evidence: Evidence) -> Iterator[Counterexample]:
    """S12: every placed order in the log was invoiced or declined, or its event stands in an excused parked entry."""
    outcomes = evidence.invoices_of.keys() | {bill.order_id for bill in evidence.bills if bill.state == "declined"}
    poisoned = evidence.poisoned
    copies, placed = evidence.copies, evidence.firsts("OrderPlaced")
    unanswered = map(not_, map(outcomes.__contains__, copies.column_at(placed, "aggregate_id")))
    for copy in copies.at(compress(placed, unanswered)):
        if poisoned.isdisjoint((copy.aggregate_id, copy.spot)):
            yield Counterexample(
                _("{copy} was never billed: no invoice, no refusal").format(copy=place(copy)),
                copy.aggregate_id,
                copy.event_id,
            )


def inbox_is_effect(evidence: Evidence) -> Iterator[Counterexample]:
    """S17: per group, what was consumed, what the inbox says and what took effect are the same."""
    yield from _consumed_is_in_inbox(evidence)
    yield from _inbox_is_in_log(evidence)
    yield from _billing_effects(evidence)
    yield from _orders_effects(evidence)
    yield from _analytics_effects(evidence)


def _consumed_is_in_inbox(evidence: Evidence) -> Iterator[Counterexample]:
    for group, copy in evidence.unapplied:
        yield Counterexample(
            _("group {group} has consumed {copy}, and its inbox does not have it").format(
                group=group, copy=place(copy)
            ),
            copy.aggregate_id,
            copy.event_id,
        )


def _inbox_is_in_log(evidence: Evidence) -> Iterator[Counterexample]:
    for group, applied in evidence.applied_ids.items():
        for row in _rows_of(evidence, group, applied.difference(evidence.first_copies.places)):
            yield Counterexample(
                _("the inbox of {group} has an event that is not in the log: {event}").format(
                    group=group, event=row.event_id
                ),
                row.aggregate_id,
                row.event_id,
            )
        for row in _rows_of(evidence, group, _doubled_events(evidence, group)):
            yield Counterexample(
                _("the inbox of {group} has the event {event} twice").format(group=group, event=row.event_id),
                row.aggregate_id,
                row.event_id,
            )


def _doubled_events(evidence: Evidence, group: str) -> set[str]:
    """Return the events that a group has taken more than once."""
    if len(evidence.applied_ids[group]) == evidence.times_applied(group):
        return set()
    times = Counter(evidence.applied(group, "event_id"))
    return {event_id for (event_id,), count in times.items() if count > 1}


def _rows_of(evidence: Evidence, group: str, event_ids: set[str]) -> Iterable[Applied]:
    """Return a row of each of these events in a group's inbox."""
    if not event_ids:
        return ()
    return {row.event_id: row for row in evidence.inbox.among("event_id", event_ids) if row.group == group}.values()


def _billing_effects(evidence: Evidence) -> Iterator[Counterexample]:
    if "billing" not in evidence.run.groups:
        return
    answered = Counter(map(ORDER_ID, evidence.invoices))
    answered.update({bill.order_id for bill in evidence.bills if bill.state == "declined"})
    placed = Counter(_taken(evidence, "billing", "OrderPlaced"))
    for order_id in _unequal(placed, answered):
        yield Counterexample(
            _("billing, order {order}: {rows} placed orders taken by the inbox, {effects} invoices or refusals").format(
                order=order_id, rows=placed[order_id], effects=answered[order_id]
            ),
            order_id,
        )
    taken = filter(evidence.invoices_of.__contains__, _taken(evidence, "billing", "OrderCancelled"))
    cancelled, credited = Counter(taken), Counter(map(ORDER_ID, evidence.credit_notes))
    for order_id in _unequal(cancelled, credited):
        yield Counterexample(
            _("billing, order {order}: {rows} cancellations taken by the inbox, {effects} credit notes").format(
                order=order_id, rows=cancelled[order_id], effects=credited[order_id]
            ),
            order_id,
        )


def _unequal(taken: Counter[str], made: Counter[str]) -> Iterable[str]:
    return dict.fromkeys(order_id for order_id, _count in taken.items() ^ made.items())


def _taken(evidence: Evidence, group: str, kind: str) -> Iterator[str]:
    """Yield the aggregate of each event of a type that a group has taken."""
    of_kind = {*evidence.copies.column_at(evidence.firsts(kind), "event_id")}
    taken = evidence.applied(group, "event_id", "aggregate_id")
    return (aggregate_id for event_id, aggregate_id in taken if event_id in of_kind)


def _orders_effects(evidence: Evidence) -> Iterator[Counterexample]:
    """A group that has taken the outcome of an order has moved it on from `placed`."""
    if "orders" not in evidence.run.groups:
        return
    still_placed = {order.order_id for order in evidence.orders if order.state == "placed"}
    for order_id, event_id in evidence.applied("orders", "aggregate_id", "event_id"):
        if order_id in still_placed:
            yield Counterexample(
                _("orders has taken the outcome of order {order}, and it is still placed").format(order=order_id),
                order_id,
                event_id,
            )


def _analytics_effects(evidence: Evidence) -> Iterator[Counterexample]:
    if "analytics" not in evidence.run.groups:
        return
    taken = sum(1 for _row in _taken(evidence, "analytics", "InvoiceIssued"))
    counted = sum(row.invoices for row in evidence.revenue)
    if taken != counted:
        yield Counterexample(
            _("analytics has taken {taken} invoices by its inbox, and counts {counted}").format(
                taken=taken, counted=counted
            )
        )


def committed_is_done(evidence: Evidence) -> Iterator[Counterexample]:
    """S20: nothing below a committed offset is undone."""
    require_provenance(evidence)
    for group, copy in evidence.unapplied:
        yield Counterexample(
            _("group {group} has committed its offset beyond {copy}, and has not applied it").format(
                group=group, copy=place(copy)
            ),
            copy.aggregate_id,
            copy.event_id,
        )


def parked_is_not_applied(evidence: Evidence) -> Iterator[Counterexample]:
    """S22: what is parked has had no effect, and what has had its effect is not parked."""
    first_copies, parked = evidence.first_copies, evidence.parked_event_ids
    for event_id in parked & first_copies.keys():
        copy = first_copies[event_id]
        yield Counterexample(
            _("{copy} is parked at the relay, and is in the log").format(copy=place(copy)), copy.aggregate_id, event_id
        )
    billed = {invoice.event_id: invoice for invoice in evidence.invoices}
    for message in evidence.parked_messages:
        if message.consumer == "billing" and message.event_id in billed:
            invoice = billed[message.event_id]
            yield Counterexample(
                _("event {event} is parked at billing, and invoice {number} answers it").format(
                    event=message.event_id, number=invoice.number
                ),
                invoice.order_id,
                message.event_id,
            )
        elif evidence.has_applied(message.consumer, message.event_id):
            yield Counterexample(
                _("event {event} is parked at {group}, whose inbox says that it had its effect").format(
                    event=message.event_id, group=message.consumer
                ),
                None,
                message.event_id,
            )


def only_poison_is_parked(evidence: Evidence) -> Iterator[Counterexample]:
    """S25: nothing is parked that the scenario did not spoil on purpose."""
    poisoned = evidence.poisoned
    for row in evidence.parked_rows:
        event = evidence.event_at.get((row.database, row.outbox_id))
        if event is None:
            yield Counterexample(_("row {row} is parked, and the outbox does not have it").format(row=row.outbox_id))
        elif poisoned.isdisjoint((event.event_id, event.aggregate_id)):
            yield Counterexample(
                _("the relay has {event} {state}, and the scenario did not spoil it: {error}").format(
                    event=f"{event.type} v{event.version}", state=row.state, error=row.last_error
                ),
                event.aggregate_id,
                event.event_id,
            )
    for message in evidence.parked_messages:
        event_of = evidence.event_of.get(str(message.event_id))
        aggregate_id = event_of.aggregate_id if event_of else None
        if poisoned.isdisjoint((message.event_id, aggregate_id, message.spot)):
            yield Counterexample(
                _("{group} has parked event {event}, and the scenario did not spoil it").format(
                    group=message.consumer, event=message.event_id or message.spot
                ),
                aggregate_id,
                message.event_id,
            )
