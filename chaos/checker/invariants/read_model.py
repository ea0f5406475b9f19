"""S19: the read model, recomputed from the log's events, each counted once.

A row that stands there twice counts twice, whatever the keys of its table forbid.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from gettext import gettext as _
from typing import TypeVar

from chaos.checker.evidence import Evidence
from chaos.checker.finding import Counterexample
from chaos.checker.records import Copy

Key = TypeVar("Key")


def analytics_recomputed(evidence: Evidence) -> Iterator[Counterexample]:
    """S19: the read model is what one gets by counting the log's events once each."""
    yield from _revenue(evidence)
    latest = _latest_states(evidence)
    yield from _states(evidence, latest)
    yield from _days(evidence, latest)
    yield from _skus(evidence)


def _counted(evidence: Evidence) -> Iterable[Copy]:
    """Return the events that the read model owes an account of: what it has set aside is S25's to judge."""
    aside = {name for group, name in evidence.set_aside if group == "analytics"}
    if not aside:
        return evidence.first_copies.values()
    return (copy for copy in evidence.first_copies.values() if aside.isdisjoint((copy.event_id, copy.spot)))


def _revenue(evidence: Evidence) -> Iterator[Counterexample]:
    right: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for copy in _counted(evidence):
        facts = copy.facts
        if facts.amount_minor is None or facts.currency is None or facts.day is None:
            continue
        entry = right[facts.day, facts.currency]
        if copy.type == "InvoiceIssued":
            entry[0] += 1
            entry[1] += facts.amount_minor
        elif copy.type == "CreditNoteIssued":
            entry[2] += facts.amount_minor
    found = _summed(
        ((row.day, row.currency), [row.invoices, row.amount_minor, row.credited_minor]) for row in evidence.revenue
    )
    sentence = _("revenue of {day} in {currency}: the read model says {found}, the log {right} {columns}")
    columns = _("(invoices, amount, credited)")
    for day, currency in sorted(right.keys() | found.keys()):
        said, true = found.get((day, currency), [0, 0, 0]), right[day, currency]
        if said != true:
            yield Counterexample(sentence.format(day=day, currency=currency, found=said, right=true, columns=columns))


def _latest_states(evidence: Evidence) -> dict[str, str]:
    latest: dict[str, tuple[int, str]] = {}
    for copy in _counted(evidence):
        state = _state_after(copy)
        if state and copy.aggregate_id and copy.version and copy.version > latest.get(copy.aggregate_id, (0, ""))[0]:
            latest[copy.aggregate_id] = copy.version, state
    return {order_id: state for order_id, (_version, state) in latest.items()}


def _states(evidence: Evidence, latest: dict[str, str]) -> Iterator[Counterexample]:
    right = Counter(latest.values())
    found = _summed((row.state, [row.orders]) for row in evidence.state_counts)
    sentence = _("orders {state}: the read model counts {found}, the log {right}")
    for state in sorted(right.keys() | found.keys()):
        (said,), true = found.get(state, [0]), right[state]
        if said != true:
            yield Counterexample(sentence.format(state=state, found=said, right=true))


def _days(evidence: Evidence, latest: dict[str, str]) -> Iterator[Counterexample]:
    right = Counter(
        (str(copy.facts.day), str(copy.facts.currency), latest[copy.aggregate_id])
        for copy in _placed(evidence)
        if copy.aggregate_id in latest
    )
    found = _summed(((row.day, row.currency, row.state), [row.orders]) for row in evidence.day_counts)
    sentence = _("orders {state} of {day} in {currency}: the read model counts {found}, the log {right}")
    for day, currency, state in sorted(right.keys() | found.keys()):
        (said,), true = found.get((day, currency, state), [0]), right[day, currency, state]
        if said != true:
            yield Counterexample(sentence.format(state=state, day=day, currency=currency, found=said, right=true))


def _skus(evidence: Evidence) -> Iterator[Counterexample]:
    right: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for copy in _placed(evidence):
        for sku in {sku for sku, _quantity, _amount in copy.facts.lines}:
            right[str(copy.facts.currency), sku][0] += 1
        for sku, quantity, amount in copy.facts.lines:
            entry = right[str(copy.facts.currency), sku]
            entry[1] += quantity
            entry[2] += amount
    found = _summed(
        ((row.currency, row.sku), [row.orders, row.quantity, row.amount_minor]) for row in evidence.ordered_skus
    )
    sentence = _("{sku} in {currency}: the read model says {found}, the log {right} (orders, quantity, amount)")
    for currency, sku in sorted(right.keys() | found.keys()):
        said, true = found.get((currency, sku), [0, 0, 0]), right[currency, sku]
        if said != true:
            yield Counterexample(sentence.format(sku=sku, currency=currency, found=said, right=true))


def _summed(rows: Iterable[tuple[Key, list[int]]]) -> dict[Key, list[int]]:
    """Add up what stands under the same key."""
    sums: dict[Key, list[int]] = {}
    for key, numbers in rows:
        known = sums.get(key)
        sums[key] = numbers if known is None else [one + other for one, other in zip(known, numbers, strict=True)]
    return sums


def _placed(evidence: Evidence) -> Iterator[Copy]:
    """Go through the orders whose placing can be read."""
    return (
        copy
        for copy in _counted(evidence)
        if copy.type == "OrderPlaced" and copy.facts.day is not None and copy.facts.currency is not None
    )


def _state_after(copy: Copy) -> str | None:
    """Return the state that an order's event puts it in; None for other events."""
    if copy.type == "OrderCancelled":
        return "declined" if copy.facts.reason == "payment_declined" else "cancelled"
    return {"OrderPlaced": "placed", "OrderConfirmed": "confirmed"}.get(copy.type or "")
