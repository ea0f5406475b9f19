"""S19: the read model, recomputed from the log's events, each counted once.

A row that stands there twice counts twice, whatever the keys of its table forbid; one that counts nothing is none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from gettext import gettext as _
from operator import add
from typing import Any, TypeVar

from chaos.checker.evidence import Evidence
from chaos.checker.finding import Counterexample
from chaos.checker.records import Copy
from chaos.checker.rows import version_of

Key = TypeVar("Key", bound=tuple[Any, ...])
Sums = Mapping[Key, list[int]]


def analytics_recomputed(evidence: Evidence) -> Iterator[Counterexample]:
    """S19: the read model is what one gets by counting the log's events once each."""
    yield from _revenue(evidence)
    latest = _latest_states(evidence)
    yield from _states(evidence, latest)
    yield from _days(evidence, latest)
    yield from _skus(evidence)


def _counted(evidence: Evidence, *kinds: str) -> Iterator[Copy]:
    """Go through the events that the read model owes an account of: what it has set aside is S25's to judge."""
    aside = {name for group, name in evidence.set_aside if group == "analytics"}
    for kind in kinds:
        for copy in evidence.firsts(kind):
            if not aside or aside.isdisjoint((copy.event_id, copy.spot)):
                yield copy


def _revenue(evidence: Evidence) -> Iterator[Counterexample]:
    right = _summed([*_papers(evidence, "InvoiceIssued"), *_papers(evidence, "CreditNoteIssued")])
    found = _summed(
        ((row.day, row.currency), [row.invoices, row.amount_minor, row.credited_minor]) for row in evidence.revenue
    )
    for day, currency in _unequal(found, right):
        yield Counterexample(
            _("revenue of {day} in {currency}: the read model says {found}, the log {right} {columns}").format(
                day=day,
                currency=currency,
                found=found.get((day, currency)),
                right=right.get((day, currency)),
                columns=_("(invoices, amount, credited)"),
            )
        )


def _papers(evidence: Evidence, kind: str) -> Iterator[tuple[tuple[str, str], list[int]]]:
    """Yield day, currency and what an invoice or a credit note adds: one and its amount, or what is credited."""
    for copy in _counted(evidence, kind):
        day, currency, amount = copy.facts.day, copy.facts.currency, copy.facts.amount_minor
        if amount is not None:
            numbers = [1, amount, 0] if kind == "InvoiceIssued" else [0, 0, amount]
            yield (str(day), str(currency)), numbers


def _latest_states(evidence: Evidence) -> dict[str | None, str]:
    copies = _counted(evidence, "OrderPlaced", "OrderConfirmed", "OrderCancelled")
    return {copy.aggregate_id: _state_after(copy) for copy in sorted(copies, key=version_of)}


def _states(evidence: Evidence, latest: Mapping[str | None, str]) -> Iterator[Counterexample]:
    right = {(state,): [count] for state, count in Counter(latest.values()).items()}
    found = _summed(((row.state,), [row.orders]) for row in evidence.state_counts)
    for (state,) in _unequal(found, right):
        yield Counterexample(
            _("orders {state}: the read model counts {found}, the log {right}").format(
                state=state, found=found.get((state,)), right=right.get((state,))
            )
        )


def _days(evidence: Evidence, latest: Mapping[str | None, str]) -> Iterator[Counterexample]:
    placed = Counter(
        (str(copy.facts.day), str(copy.facts.currency), latest[copy.aggregate_id])
        for copy in _counted(evidence, "OrderPlaced")
    )
    right = {key: [count] for key, count in placed.items()}
    found = _summed(((row.day, row.currency, row.state), [row.orders]) for row in evidence.day_counts)
    for day, currency, state in _unequal(found, right):
        yield Counterexample(
            _("orders {state} of {day} in {currency}: the read model counts {found}, the log {right}").format(
                state=state,
                day=day,
                currency=currency,
                found=found.get((day, currency, state)),
                right=right.get((day, currency, state)),
            )
        )


def _skus(evidence: Evidence) -> Iterator[Counterexample]:
    right = _summed(line for copy in _counted(evidence, "OrderPlaced") for line in _bought(copy))
    found = _summed(
        ((row.currency, row.sku), [row.orders, row.quantity, row.amount_minor]) for row in evidence.ordered_skus
    )
    for currency, sku in _unequal(found, right):
        yield Counterexample(
            _("{sku} in {currency}: the read model says {found}, the log {right} (orders, quantity, amount)").format(
                sku=sku, currency=currency, found=found.get((currency, sku)), right=right.get((currency, sku))
            )
        )


def _bought(copy: Copy) -> Iterator[tuple[tuple[str, str], list[int]]]:
    """Yield currency, article and what an order adds: an order however many lines name it, quantity, amount."""
    known: set[str] = set()
    for sku, quantity, amount in copy.facts.lines:
        yield (str(copy.facts.currency), sku), [int(sku not in known), quantity, amount]
        known.add(sku)


def _summed(rows: Iterable[tuple[Key, list[int]]]) -> dict[Key, list[int]]:
    """Add up what stands under the same key, and leave out what comes to nothing."""
    sums: dict[Key, list[int]] = {}
    for key, numbers in rows:
        known = sums.get(key)
        sums[key] = [*map(add, known, numbers)] if known else numbers
    return {key: numbers for key, numbers in sums.items() if any(numbers)}


def _unequal(found: Sums[Key], right: Sums[Key]) -> list[Key]:
    """Return the keys under which the sums are not the same."""
    return [key for key in sorted(found.keys() | right.keys()) if found.get(key) != right.get(key)]


def _state_after(copy: Copy) -> str:
    """Return the state that an order's event puts it in."""
    if copy.type == "OrderPlaced":
        return "placed"
    if copy.type == "OrderConfirmed":
        return "confirmed"
    return "declined" if copy.facts.reason == "payment_declined" else "cancelled"
