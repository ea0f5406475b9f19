"""S11, S13-S16, S18: invoices, amounts, numbers, mails and sums, counted row by row.

Nothing here leans on a constraint of the database: a table whose UNIQUE was dropped is judged all the same. Sums alone
hide errors that cancel each other out, so S14 looks at every single amount.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from gettext import gettext as _
from itertools import compress, repeat
from operator import attrgetter, is_not, ne
from typing import Any, TypeVar

from chaos.checker.columnwise import Place
from chaos.checker.evidence import Evidence
from chaos.checker.finding import Counterexample
from chaos.checker.records import CreditNote, Invoice, Mail
from chaos.checker.rows import ORDER_ID

Money = tuple[int | None, str | None]
Statement = tuple[str | None, Money]
R = TypeVar("R")
ORDER, PAYMENT = "order", "payment"

SAYS = ("amount_minor", "currency")
MONEY: Callable[[Any], Money] = attrgetter(*SAYS)


def one_invoice_per_order(evidence: Evidence) -> Iterator[Counterexample]:
    """S11: an order has at most one invoice."""
    for order_id, invoices in evidence.invoices_of.items():
        for again in invoices[1:]:
            yield Counterexample(
                _("order {order} was invoiced {count} times: {numbers}").format(
                    order=order_id, count=len(invoices), numbers=", ".join(i.number for i in invoices)
                ),
                order_id,
                again.event_id,
            )


def no_phantom_invoice(evidence: Evidence) -> Iterator[Counterexample]:
    """S13: every invoice belongs to an order that exists, and every credit note to an invoice of its order."""
    orders = evidence.order_of
    for invoice in evidence.invoices:
        if invoice.order_id not in orders:
            yield Counterexample(
                _("invoice {number} is for order {order}, and there is no such order").format(
                    number=invoice.number, order=invoice.order_id
                ),
                invoice.order_id,
                invoice.event_id,
            )
    numbers = {(invoice.order_id, invoice.number) for invoice in evidence.invoices}
    for note in evidence.credit_notes:
        if (note.order_id, note.invoice_number) not in numbers:
            yield Counterexample(
                _("credit note {number} is for invoice {invoice}, which order {order} does not have").format(
                    number=note.number, invoice=note.invoice_number, order=note.order_id
                ),
                note.order_id,
            )


def amounts_agree(evidence: Evidence) -> Iterator[Counterexample]:
    """S14: order, event, payment, invoice and credit note of an order say the same amount and currency."""
    ordered = {order.order_id: MONEY(order) for order in evidence.orders}
    said: dict[str, Statement] = {}
    copies = evidence.copies.at(_copies_unlike(evidence, ordered))
    telling = ((c.aggregate_id, c.type, MONEY(c)) for c in copies if c.aggregate_id is not None)
    yield from _disagree(ordered, said, telling)
    payments = _unlike(evidence.payments, ORDER_ID, MONEY, ordered)
    yield from _disagree(ordered, said, ((p.order_id, PAYMENT, MONEY(p)) for p in payments))
    papers: list[Invoice | CreditNote] = [*evidence.invoices, *evidence.credit_notes]
    unlike = _unlike(papers, ORDER_ID, MONEY, ordered)
    yield from _disagree(ordered, said, ((p.order_id, p.number, MONEY(p)) for p in unlike))


def _copies_unlike(evidence: Evidence, ordered: Mapping[str, Money]) -> Iterator[Place]:
    """Yield where the first copies stand that tell an amount, and not what their order says."""
    copies, firsts = evidence.copies, [*evidence.first_copies.places.values()]
    telling = [*compress(firsts, map(is_not, copies.column_at(firsts, "amount_minor"), repeat(None)))]
    said = copies.columns_at(telling, *SAYS)
    return compress(telling, map(ne, said, map(ordered.get, copies.column_at(telling, "aggregate_id"))))


def _unlike(
    rows: Sequence[R], order_of: Callable[[Any], Any], money: Callable[[Any], Money], ordered: Mapping[str, Money]
) -> Iterator[R]:
    """Yield the rows that do not say what their order says; nearly all do."""
    return compress(rows, map(ne, map(money, rows), map(ordered.get, map(order_of, rows))))


def _disagree(
    ordered: Mapping[str, Money],
    said: dict[str, Statement],
    statements: Iterable[tuple[str, str | None, Money]],
) -> Iterator[Counterexample]:
    """Yield each statement that differs from what was first said of its order; orders nobody placed are S13's."""
    for order_id, who, money in statements:
        known = ordered.get(order_id)
        source, first = (ORDER, known) if known else said.setdefault(order_id, (who, money))
        if money != first:
            yield Counterexample(
                _("order {order}: {source} says {expected}, {who} says {found}").format(
                    order=order_id,
                    source=source,
                    expected=f"{first[0]} {first[1]}",
                    who=who,
                    found=f"{money[0]} {money[1]}",
                ),
                order_id,
            )


def conserved(evidence: Evidence) -> Iterator[Counterexample]:
    """S15: per currency, what was ordered is what was invoiced or refused, and what was taken back was credited."""
    poisoned = evidence.poisoned
    billed, credited = Counter[str](), Counter[str]()
    cancelled, copies = evidence.firsts("OrderCancelled"), evidence.copies
    invoiced = map(evidence.invoices_of.__contains__, copies.column_at(cancelled, "aggregate_id"))
    ordered = _told(evidence, evidence.firsts("OrderPlaced"))
    taken_back = _told(evidence, [*compress(cancelled, invoiced)])
    for bill in evidence.bills:
        if bill.state == "declined" and bill.order_id not in poisoned:
            billed[bill.currency] += bill.amount_minor
    for paper, sums in ((evidence.invoices, billed), (evidence.credit_notes, credited)):
        for row in _honest(paper, poisoned):
            sums[row.currency] += row.amount_minor
    yield from _unequal_sums(ordered, billed, _("ordered"), _("invoiced or refused"))
    yield from _unequal_sums(taken_back, credited, _("cancelled after invoicing"), _("credited"))


def _told(evidence: Evidence, places: Sequence[Place]) -> Counter[str]:
    """Add up by currency what these copies say, but for those that the scenario has spoiled."""
    copies, poisoned, sums = evidence.copies, evidence.poisoned, Counter[str]()
    if poisoned:
        spared = (place for place in places if poisoned.isdisjoint((copies[place].aggregate_id, copies[place].spot)))
        places = [*spared]
    for said in copies.columns_at(places, *SAYS):
        if None not in said:
            amount, currency = said
            sums[currency] += amount
    return sums


def _honest(
    papers: Iterable[Invoice] | Iterable[CreditNote], poisoned: frozenset[str]
) -> Iterator[Invoice | CreditNote]:
    return (paper for paper in papers if paper.order_id not in poisoned)


def _unequal_sums(left: Counter[str], right: Counter[str], this: str, that: str) -> Iterator[Counterexample]:
    for currency in sorted(left.keys() | right.keys()):
        if left[currency] != right[currency]:
            yield Counterexample(
                _("{currency}: {left} were {this}, and {right} {that} (difference {difference})").format(
                    currency=currency, left=left[currency], this=this, right=right[currency], that=that,
                    difference=right[currency] - left[currency],
                )
            )  # fmt: skip


def numbers_gapless(evidence: Evidence) -> Iterator[Counterexample]:
    """S16: the numbers of each series are 1, 2, 3, ... without gap or double; the counter stands behind the last."""
    series: dict[tuple[str, int], list[Invoice | CreditNote]] = defaultdict(list)
    papers: list[Invoice | CreditNote] = [*evidence.invoices, *evidence.credit_notes]
    for paper in papers:
        series[paper.series, paper.year].append(paper)
    counters: dict[tuple[str, int], list[int]] = defaultdict(list)
    for row in evidence.number_series:
        counters[row.series, row.year].append(row.next_sequence)
    for key in sorted(series.keys() | counters.keys()):
        yield from _faults_of(key, series.get(key, []), counters.get(key, []))


def _faults_of(
    key: tuple[str, int], papers: list[Invoice | CreditNote], counters: list[int]
) -> Iterator[Counterexample]:
    expected = 1
    series, year = key
    for paper in sorted(papers, key=lambda p: p.sequence):
        if paper.sequence < expected:
            yield Counterexample(_("number {number} was given twice").format(number=paper.number), paper.order_id)
        elif paper.sequence > expected:
            yield Counterexample(
                _("series {series} {year} jumps from {before} to {after}").format(
                    series=series, year=year, before=expected - 1, after=paper.sequence
                ),
                paper.order_id,
            )
        if not paper.number.endswith(f"{paper.year}-{paper.sequence:06d}"):
            yield Counterexample(
                _("number {number} is not number {sequence} of {series} {year}").format(
                    number=paper.number, sequence=paper.sequence, series=series, year=year
                ),
                paper.order_id,
            )
        expected = max(expected, paper.sequence + 1)
    if counters != [expected]:
        yield Counterexample(
            _("the counter of series {series} {year} stands at {counter}, and the last number given is {last}").format(
                series=series, year=year, counter=", ".join(map(str, counters)) or None, last=expected - 1
            )
        )


def one_mail_per_invoice(evidence: Evidence) -> Iterator[Counterexample]:
    """S18: every invoiced order has one invoice mail, by its key: a second copy with the same key is no second mail."""
    mails: dict[str | None, dict[str, Mail]] = defaultdict(dict)
    events, places = evidence.events, evidence.event_of.places
    destinations, aggregates = events.column("destination"), events.column("aggregate_id")
    for mail in evidence.mails:
        place = places.get(mail.key)
        destination, aggregate_id = (None, None) if place is None else (destinations[place], aggregates[place])
        order_id = mail.order_id or aggregate_id
        mails[order_id].setdefault(mail.key, mail)
        if destination != "command" or aggregate_id != order_id:
            yield Counterexample(
                _("a mail to {recipient} has the key {key}, and no command of its order is called so").format(
                    recipient=mail.recipient, key=mail.key
                ),
                order_id,
            )
    yield from _mails_per_order(evidence.invoices_of, mails)


def _mails_per_order(
    invoices: dict[str, list[Invoice]], mails: dict[str | None, dict[str, Mail]]
) -> Iterator[Counterexample]:
    for order_id in invoices:
        keys = mails.get(order_id, {})
        if not keys:
            yield Counterexample(
                _("order {order} was invoiced, and no invoice mail arrived for it").format(order=order_id), order_id
            )
        elif len(keys) > 1:
            yield Counterexample(
                _("order {order} was invoiced, and {count} different invoice mails arrived for it").format(
                    order=order_id, count=len(keys)
                ),
                order_id,
            )
        numbers = {invoice.number for invoice in invoices[order_id]}
        for mail in keys.values():
            if mail.invoice_number is not None and mail.invoice_number not in numbers:
                yield Counterexample(
                    _("a mail for order {order} speaks of invoice {said}, which is not its own").format(
                        order=order_id, said=mail.invoice_number
                    ),
                    order_id,
                )
    for order in mails.keys() - invoices.keys():
        yield Counterexample(
            _("an invoice mail arrived for order {order}, which has no invoice").format(order=order), order
        )
