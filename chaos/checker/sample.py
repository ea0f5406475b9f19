"""A few whole orders of a run with all that belongs to them: where the canaries are planted.

Copying and judging a hundred thousand orders once per canary would cost more than the run's own judgement. A sample is
made of the run's own rows, so an invariant that reads a wrong column or joins by a wrong key is blind here too. What
speaks of all orders at once (sums of the read model, gapless numbers) does not fit a sample; a canary therefore counts
as found only by a counterexample that the sample without it does not give.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from chaos.checker.columnwise import Columnwise
from chaos.checker.evidence import Evidence
from chaos.checker.lines import Unusable
from chaos.checker.records import Delivery, Intent, Mail
from chaos.checker.rows import ORDER_ID, among

ORDERS_PER_STATE = 8

BY_ORDER = frozenset({"orders", "keys", "bills", "payments", "invoices", "credit_notes", "sent_emails"})


def sample(evidence: Evidence) -> Evidence:
    """Return the evidence cut down to a few orders, table by table when asked for. What is missing stays missing."""
    return Evidence(Cut(evidence, _choose(evidence)).table, evidence.run)


class Cut:
    """The tables of a few orders. It does not know the evidence made of it: a cycle would keep both in memory."""

    def __init__(self, whole: Evidence, chosen: frozenset[str]) -> None:
        self._whole = whole
        self._chosen = chosen

    def table(self, name: str) -> Sequence[Any]:
        rows = self._whole.table(name)
        if isinstance(rows, Columnwise):
            return [*rows.among("aggregate_id", self._chosen)]
        if name in BY_ORDER:
            return [*among(rows, ORDER_ID, self._chosen)]
        by_something_else: Mapping[str, Callable[[Sequence[Any]], Sequence[Any]]] = {
            "intents": self._intents, "mails": self._mails, "deliveries": self._deliveries,
        }  # fmt: skip
        cut = by_something_else.get(name)
        return cut(rows) if cut else rows

    def _intents(self, intents: Sequence[Intent]) -> Sequence[Intent]:
        refs = {intent.order_ref for intent in intents if intent.order_id in self._chosen}
        return [intent for intent in intents if intent.order_ref in refs]

    def _mails(self, mails: Sequence[Mail]) -> Sequence[Mail]:
        if not self._whole.has("events"):
            return mails
        keys = {event.event_id for event in self.table("events")}
        return [mail for mail in mails if mail.key in keys]

    def _deliveries(self, deliveries: Sequence[Delivery]) -> Sequence[Delivery]:
        if not self._whole.has("copies"):
            return deliveries
        offsets: dict[tuple[str, int], list[int]] = defaultdict(list)
        for copy in self.table("copies"):
            offsets[copy.topic, copy.partition].append(copy.offset)
        for found in offsets.values():
            found.sort()
        return [delivery for delivery in deliveries if _touches(delivery, offsets[delivery.topic, delivery.partition])]


def _choose(evidence: Evidence) -> frozenset[str]:
    """Take the first orders of each state that the scenario left alone, or whatever aggregates there are."""
    if not evidence.has("orders"):
        named = evidence.copies.column("aggregate_id") if evidence.has("copies") else []
        return frozenset(list(dict.fromkeys(filter(None, named)))[:ORDERS_PER_STATE])
    spared = _spoiled(evidence)
    taken: Counter[str] = Counter()
    chosen = set()
    for order in evidence.orders:
        if taken[order.state] < ORDERS_PER_STATE and order.order_id not in spared:
            taken[order.state] += 1
            chosen.add(order.order_id)
    return frozenset(chosen)


def _spoiled(evidence: Evidence) -> frozenset[str]:
    """Return what the scenario spoiled, as far as it can be told. Where it names nothing, no table is loaded for it."""
    try:
        return evidence.poisoned
    except Unusable:
        return frozenset()


def _touches(delivery: Delivery, offsets: list[int]) -> bool:
    nearest = bisect_left(offsets, delivery.offset)
    return nearest < len(offsets) and offsets[nearest] <= delivery.last_offset
