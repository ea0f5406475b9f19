"""A few whole orders of a run with all that belongs to them: where the canaries are planted.

Copying and judging a hundred thousand orders once per canary would cost more than the run's own judgement. A sample is
made of the run's own rows, so an invariant that reads a wrong column or joins by a wrong key is blind here too. What
speaks of all orders at once (sums of the read model, gapless numbers) does not fit a sample; a canary therefore counts
as found only by a counterexample that the sample without it does not give.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from chaos.checker.evidence import Evidence
from chaos.checker.records import Delivery

ORDERS_PER_STATE = 8

BY_ORDER: Mapping[str, Callable[[Any], str | None]] = {
    "orders": lambda row: row.order_id,
    "keys": lambda row: row.order_id,
    "events": lambda row: row.aggregate_id,
    "copies": lambda row: row.aggregate_id,
    "inbox": lambda row: row.aggregate_id,
    "bills": lambda row: row.order_id,
    "payments": lambda row: row.order_id,
    "invoices": lambda row: row.order_id,
    "credit_notes": lambda row: row.order_id,
    "sent_emails": lambda row: row.order_id,
}


def sample(evidence: Evidence) -> Evidence:
    """Return the evidence cut down to a few orders. Tables that are missing stay missing."""
    chosen = _choose(evidence)
    tables = {
        name: [row for row in evidence.table(name) if order_of(row) in chosen]
        for name, order_of in BY_ORDER.items()
        if evidence.has(name)
    }
    if evidence.has("intents"):
        refs = {intent.order_ref for intent in evidence.intents if intent.order_id in chosen}
        tables["intents"] = [intent for intent in evidence.intents if intent.order_ref in refs]
    if evidence.has("mails") and evidence.has("events"):
        keys = {event.event_id for event in tables["events"]}
        tables["mails"] = [mail for mail in evidence.mails if mail.key in keys]
    cut = evidence.replacing(**tables)
    if evidence.has("deliveries") and evidence.has("copies"):
        return cut.replacing(deliveries=_deliveries(cut))
    return cut


def _choose(evidence: Evidence) -> frozenset[str]:
    """Take the first orders of each state that the scenario left alone, or whatever aggregates there are."""
    if not evidence.has("orders"):
        rows = evidence.copies if evidence.has("copies") else []
        return frozenset(list(dict.fromkeys(c.aggregate_id for c in rows if c.aggregate_id))[:ORDERS_PER_STATE])
    spared = evidence.poisoned if evidence.has("events") and evidence.has("copies") else frozenset[str]()
    taken: Counter[str] = Counter()
    chosen = set()
    for order in evidence.orders:
        if taken[order.state] < ORDERS_PER_STATE and order.order_id not in spared:
            taken[order.state] += 1
            chosen.add(order.order_id)
    return frozenset(chosen)


def _deliveries(cut: Evidence) -> list[Delivery]:
    offsets: dict[tuple[str, int], list[int]] = defaultdict(list)
    for copy in cut.copies:
        offsets[copy.topic, copy.partition].append(copy.offset)
    for found in offsets.values():
        found.sort()
    return [delivery for delivery in cut.deliveries if _touches(delivery, offsets[delivery.topic, delivery.partition])]


def _touches(delivery: Delivery, offsets: list[int]) -> bool:
    nearest = bisect_left(offsets, delivery.offset)
    return nearest < len(offsets) and offsets[nearest] <= delivery.last_offset
