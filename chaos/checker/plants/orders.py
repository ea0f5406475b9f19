"""Canaries for the orders, S00-S04, S23, S24."""

from __future__ import annotations

from chaos.checker.evidence import Evidence
from chaos.checker.invariants.orders import accepted_as
from chaos.checker.plants.pick import NOBODY, instead, pick
from chaos.checker.records import Intent, Order

NOWHERE = "nowhere"
"""A state that no order can be in, so that the canary differs from whatever is wrong with the order already."""


def _accepted(evidence: Evidence) -> tuple[Intent, Order]:
    """Return an order and the attempt that it was first accepted by: a key that made two orders answers for one."""
    orders, poisoned = evidence.order_of, evidence.poisoned
    intent = pick(
        (
            attempt
            for attempts in evidence.attempts_of.values()
            for attempt in attempts
            if attempt.op == "place"
            and attempt.result == "ok"
            and attempt.order_id in orders
            and attempt.order_id == accepted_as(attempts)
            and attempt.order_id not in poisoned
        ),
        "accepted order",
    )
    return intent, orders[str(intent.order_id)]


def end_taken_away(evidence: Evidence) -> Evidence:
    _intent, order = _accepted(evidence)
    return evidence.replacing(orders=instead(evidence.orders, order, order._replace(state=NOWHERE)))


def order_lost(evidence: Evidence) -> Evidence:
    _intent, order = _accepted(evidence)
    return evidence.replacing(orders=[row for row in evidence.orders if row.order_id != order.order_id])


def refused_order_exists(evidence: Evidence) -> Evidence:
    intent, order = _accepted(evidence)
    key = pick(evidence.keys, "idempotency key")
    refused = intent._replace(n=-1, key="canary", order_ref="canary", order_id=None, result="fail")
    return evidence.replacing(
        orders=[*evidence.orders, order._replace(order_id=NOBODY)],
        intents=[*evidence.intents, refused],
        keys=[*evidence.keys, key._replace(customer_id=intent.customer_id, key="canary", order_id=NOBODY)],
    )


def order_of_nobody(evidence: Evidence) -> Evidence:
    order = pick(evidence.orders, "order")
    return evidence.replacing(orders=[*evidence.orders, order._replace(order_id=NOBODY)])


def event_missing(evidence: Evidence) -> Evidence:
    events = evidence.events_of_order
    order = pick((o for o in evidence.orders if o.order_id in events), "order with events")
    taken = evidence.events[events[order.order_id][-1]].event_id
    return evidence.replacing(events=[event for event in evidence.events if event.event_id != taken])


def stuck(evidence: Evidence) -> Evidence:
    order = pick((o for o in evidence.orders if o.order_id not in evidence.poisoned), "order")
    return evidence.replacing(orders=instead(evidence.orders, order, order._replace(state=NOWHERE)))


def key_with_two_orders(evidence: Evidence) -> Evidence:
    key = pick(evidence.keys, "idempotency key")
    return evidence.replacing(keys=[*evidence.keys, key._replace(order_id=NOBODY)])
