"""S00-S04, S23, S24: what the client was told, what the orders database holds, and how each order ends.

Trusts nothing between the client's intent and the final effect. An attempt whose answer was lost (`info`) may have
happened or not, so it is never held against the system.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from gettext import gettext as _

from chaos.checker.evidence import Evidence
from chaos.checker.finding import Counterexample
from chaos.checker.records import CreditNote, Intent, Invoice, Order
from chaos.checker.rows import ORDER_ID, outside

INVOICED, DECLINED, CANCELLED = "invoiced", "declined", "cancelled"


def ends_as_intended(evidence: Evidence) -> Iterator[Counterexample]:
    """S00: every accepted order ends as its client foretold."""
    poisoned = evidence.poisoned
    ends = Ends(evidence)
    for attempts in evidence.attempts_of.values():
        order_id = accepted_as(attempts)
        if order_id is None or order_id in poisoned:
            continue
        problem = ends.problem(order_id, attempts)
        if problem:
            yield Counterexample(problem, order_id=order_id)


class Ends:
    """How the orders of a run have ended, compared with what was intended."""

    def __init__(self, evidence: Evidence) -> None:
        self._orders = evidence.order_of
        self._invoices = evidence.invoices_of
        self._notes = evidence.credit_notes_of

    def problem(self, order_id: str, attempts: list[Intent]) -> str | None:
        """Say in words how the order's end differs from what its attempts allow; None when it does not."""
        order = self._orders.get(order_id)
        if order is None:
            return _("order {order} was accepted, and there is no such order").format(order=order_id)
        invoices, notes = self._invoices.get(order_id, []), self._notes.get(order_id, [])
        allowed = allowed_ends(attempts)
        end = end_of(order, invoices, notes)
        if end not in allowed:
            return _("order {order} should have ended {allowed}, but: {found}").format(
                order=order_id, allowed=_(" or ").join(sorted(allowed)), found=describe(order, invoices, notes)
            )
        return _wrong_money(attempts, [*invoices, *notes])


def _wrong_money(attempts: list[Intent], papers: Iterable[Invoice | CreditNote]) -> str | None:
    for attempt in accepted(attempts):
        intended = attempt.amount_minor, attempt.currency
        for paper in papers:
            if (paper.amount_minor, paper.currency) != intended:
                return _("order {order} was for {intended}, but {number} says {said}").format(
                    order=attempt.order_id,
                    intended=f"{intended[0]} {intended[1]}",
                    number=paper.number,
                    said=f"{paper.amount_minor} {paper.currency}",
                )
    return None


def accepted(attempts: Iterable[Intent]) -> Iterator[Intent]:
    """Yield the attempts to place an order that are known to have succeeded."""
    return (a for a in attempts if a.op == "place" and a.result == "ok" and a.order_id)


def accepted_as(attempts: Iterable[Intent]) -> str | None:
    """Return the id under which an order was accepted, None when no attempt to place it is known to have succeeded."""
    for attempt in accepted(attempts):
        return attempt.order_id
    return None


def allowed_ends(attempts: list[Intent]) -> set[str]:
    """Return how an order may end, given what its client knows of each attempt."""
    cancelling = {attempt.result for attempt in attempts if attempt.op == "cancel"}
    if "ok" in cancelling:
        return {CANCELLED}
    foretold = next((a.expect for a in attempts if a.op == "place" and a.expect), None)
    # A client that meant to cancel, and could not, did not say what the order would come to without it.
    ends = {INVOICED, DECLINED} if foretold in (None, CANCELLED) else {str(foretold)}
    if "info" in cancelling:
        ends.add(CANCELLED)
    return ends


def end_of(order: Order, invoices: list[Invoice], notes: list[CreditNote]) -> str | None:
    """Name the end that an order has reached; None for an end that no order may have."""
    papers = (order.state, len(invoices), len(notes))
    if papers == ("confirmed", 1, 0):
        return INVOICED
    if papers == ("declined", 0, 0):
        return DECLINED
    if papers == ("cancelled", 0, 0):
        return CANCELLED
    if papers == ("cancelled", 1, 1) and _money(invoices[0]) == _money(notes[0]):
        return CANCELLED
    return None


def _money(paper: Invoice | CreditNote) -> tuple[int, str]:
    return paper.amount_minor, paper.currency


def describe(order: Order, invoices: list[Invoice], notes: list[CreditNote]) -> str:
    return _("it is {state}, with invoices [{invoices}] and credit notes [{notes}]").format(
        state=order.state,
        invoices=", ".join(f"{i.number} {i.amount_minor} {i.currency}" for i in invoices),
        notes=", ".join(f"{n.number} {n.amount_minor} {n.currency}" for n in notes),
    )


def no_lost_order(evidence: Evidence) -> Iterator[Counterexample]:
    """S01: an order that was accepted is in the database."""
    orders = evidence.order_of
    for order_id in dict.fromkeys(a.order_id for a in evidence.intents if a.op == "place" and a.result == "ok"):
        if order_id is None:
            yield Counterexample(_("an order was accepted, and the answer did not name it"))
        elif order_id not in orders:
            yield Counterexample(
                _("order {order} was accepted, and the database does not have it").format(order=order_id), order_id
            )


def refused_left_nothing(evidence: Evidence) -> Iterator[Counterexample]:
    """S02: an order that was definitely refused does not exist."""
    yield from _orders_whose_attempts(
        evidence, {"fail"}, _("order {order} exists, although every attempt to place it was refused")
    )


def no_phantom_order(evidence: Evidence) -> Iterator[Counterexample]:
    """S03: an order that nobody placed does not exist."""
    yield from _orders_whose_attempts(evidence, set(), _("order {order} exists, and no client ever placed it"))


def _orders_whose_attempts(evidence: Evidence, results: set[str], sentence: str) -> Iterator[Counterexample]:
    unnamed = [*outside(evidence.orders, ORDER_ID, _named(evidence.intents))]
    if not unnamed:
        return
    results_of, key_of = _results_of_keys(evidence.intents), {key.order_id: key for key in evidence.keys}
    for order in unnamed:
        key = key_of.get(order.order_id)
        found = results_of.get((key.customer_id, key.key), set()) if key else set()
        if found == results:
            yield Counterexample(sentence.format(order=order.order_id), order.order_id)


def _named(intents: Iterable[Intent]) -> frozenset[str | None]:
    """Return the orders that an attempt to place one was answered with, unless the answer was no."""
    return frozenset(a.order_id for a in intents if a.op == "place" and a.result != "fail")


def _results_of_keys(intents: Iterable[Intent]) -> dict[tuple[str, str | None], set[str]]:
    """Return the results of all attempts to place an order under a key, for each customer's keys."""
    results: dict[tuple[str, str | None], set[str]] = defaultdict(set)
    for attempt in intents:
        if attempt.op == "place":
            results[attempt.customer_id, attempt.key].add(attempt.result)
    return results


def outbox_atomic(evidence: Evidence) -> Iterator[Counterexample]:
    """S04: an order and its events were committed together, so an order of version n has the events 1 to n."""
    orders, version_of = evidence.order_of, evidence.events.column("version")
    events = evidence.events_of_order
    for order in evidence.orders:
        versions = sorted(map(version_of.__getitem__, events.get(order.order_id, ())))
        if versions != list(range(1, order.version + 1)):
            yield Counterexample(
                _("order {order} is at version {version}, and the outbox has its events {versions}").format(
                    order=order.order_id, version=order.version, versions=versions or _("none")
                ),
                order.order_id,
            )
    for order_id in events.keys() - orders.keys():
        yield Counterexample(
            _("the outbox has events of order {order}, and there is no such order").format(order=order_id), order_id
        )


def saga_ends(evidence: Evidence) -> Iterator[Counterexample]:
    """S23: an order ends confirmed with an invoice, declined with none, or cancelled with none or with both papers."""
    poisoned = evidence.poisoned
    invoices_of, notes_of = evidence.invoices_of, evidence.credit_notes_of
    for order in evidence.orders:
        invoices, notes = invoices_of.get(order.order_id, []), notes_of.get(order.order_id, [])
        if order.order_id not in poisoned and end_of(order, invoices, notes) is None:
            yield Counterexample(
                _("order {order} has not come to an end that fits together: {found}").format(
                    order=order.order_id, found=describe(order, invoices, notes)
                ),
                order.order_id,
            )


def one_order_per_key(evidence: Evidence) -> Iterator[Counterexample]:
    """S24: an idempotency key stands for one order, and every answer to it names that order."""
    first: dict[tuple[str, str], str] = {}
    others: dict[tuple[str, str], list[str]] = defaultdict(list)
    for customer, key, order_id in _answers(evidence):
        if first.setdefault((customer, key), order_id) != order_id:
            others[customer, key].append(order_id)
    for (customer, key), more in others.items():
        orders = dict.fromkeys([first[customer, key], *more])
        yield Counterexample(
            _("the key {key} of customer {customer} stands for {count} orders: {orders}").format(
                key=key, customer=customer, count=len(orders), orders=", ".join(orders)
            ),
            first[customer, key],
        )


def _answers(evidence: Evidence) -> Iterator[tuple[str, str, str]]:
    """Yield customer, key and the order that it stands for, by the database and by each answer."""
    yield from evidence.keys
    for attempt in evidence.intents:
        if attempt.op == "place" and attempt.result == "ok" and attempt.key and attempt.order_id:
            yield attempt.customer_id, attempt.key, attempt.order_id
