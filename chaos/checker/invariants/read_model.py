"""S19: the read model, recomputed from the log's events, each counted once.

A row that stands there twice counts twice, whatever the keys of its table forbid; one that counts nothing is none.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from gettext import gettext as _
from operator import add, itemgetter
from typing import Any, TypeVar

from chaos.checker.evidence import Evidence
from chaos.checker.finding import Counterexample
from chaos.checker.rows import in_sequence

Key = TypeVar("Key", bound=tuple[Any, ...])
Sums = Mapping[Key, list[int]]
Lines = tuple[tuple[str, int, int], ...]


def analytics_recomputed(evidence: Evidence) -> Iterator[Counterexample]:
    """S19: the read model is what one gets by counting the log's events once each."""
    yield from _revenue(evidence)
    latest = _latest_states(evidence)
    yield from _states(evidence, latest)
    yield from _days(evidence, latest)
    yield from _skus(evidence)


def _counted(evidence: Evidence, kind: str, *names: str) -> Iterator[tuple[Any, ...]]:
    """Return columns of the events that the read model owes an account of: what it has set aside is S25's to judge."""
    copies, places = evidence.copies, evidence.firsts(kind)
    aside = {name for group, name in evidence.set_aside if group == "analytics"}
    if aside:
        places = [place for place in places if aside.isdisjoint((copies[place].event_id, copies[place].spot))]
    return copies.columns_at(places, *names)


def _revenue(evidence: Evidence) -> Iterator[Counterexample]:
    invoiced, credited = _amounts(evidence, "InvoiceIssued"), _amounts(evidence, "CreditNoteIssued")
    right = _summed(
        [(key, [len(amounts), sum(amounts), 0]) for key, amounts in invoiced.items()]
        + [(key, [0, 0, sum(amounts)]) for key, amounts in credited.items()]
    )
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


def _amounts(evidence: Evidence, kind: str) -> dict[tuple[str, str], list[int]]:
    """Return all amounts of a type of paper by day and currency."""
    amounts: dict[tuple[str, str], list[int]] = defaultdict(list)
    for day, currency, amount in _counted(evidence, kind, "day", "currency", "amount_minor"):
        if amount is not None:
            amounts[str(day), str(currency)].append(amount)
    return amounts


def _latest_states(evidence: Evidence) -> dict[str | None, str]:
    changes = [
        (aggregate_id, _state_after(kind, reason), in_sequence(version))
        for kind in ("OrderCancelled", "OrderConfirmed", "OrderPlaced")
        for version, aggregate_id, reason in _counted(evidence, kind, "version", "aggregate_id", "reason")
    ]
    return {aggregate_id: state for aggregate_id, state, _version in sorted(changes, key=itemgetter(2))}


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
        (str(day), str(currency), latest[order])
        for day, currency, order in _counted(evidence, "OrderPlaced", "day", "currency", "aggregate_id")
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
    orders = Counter(_counted(evidence, "OrderPlaced", "currency", "lines"))
    right = _summed(
        line for (currency, lines), count in orders.items() for line in _bought(str(currency), lines, count)
    )
    found = _summed(
        ((row.currency, row.sku), [row.orders, row.quantity, row.amount_minor]) for row in evidence.ordered_skus
    )
    for currency, sku in _unequal(found, right):
        yield Counterexample(
            _("{sku} in {currency}: the read model says {found}, the log {right} (orders, quantity, amount)").format(
                sku=sku, currency=currency, found=found.get((currency, sku)), right=right.get((currency, sku))
            )
        )


def _bought(currency: str, lines: Lines, orders: int) -> Iterator[tuple[tuple[str, str], list[int]]]:
    """Yield currency, article and what orders of the same lines add: orders, quantity, amount.

    An order counts once for an article, however many lines name it.
    """
    known: set[str] = set()
    for sku, quantity, amount in lines:
        yield (currency, sku), [0 if sku in known else orders, quantity * orders, amount * orders]
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


def _state_after(kind: str, reason: str | None) -> str:
    """Return the state that an order's event puts it in."""
    if kind == "OrderPlaced":
        return "placed"
    if kind == "OrderConfirmed":
        return "confirmed"
    return "declined" if reason == "payment_declined" else "cancelled"
