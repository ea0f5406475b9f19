"""Canaries for the orders, S00-S04, S23, S24."""

from __future__ import annotations

from chaos.checker.evidence import Evidence
from chaos.checker.plants.pick import NOBODY, instead, pick, without
from chaos.checker.records import Intent, Order


def _accepted(evidence: Evidence) -> tuple[Intent, Order]:
    orders = evidence.order_of
    intent = pick(
        (a for a in evidence.intents if a.op == "place" and a.result == "ok" and a.order_id in orders), "accepted order"
    )
    return intent, orders[str(intent.order_id)]


def end_taken_away(evidence: Evidence) -> Evidence:
    _intent, order = _accepted(evidence)
    return evidence.replacing(orders=instead(evidence.orders, order, order._replace(state="placed")))


def order_lost(evidence: Evidence) -> Evidence:
    _intent, order = _accepted(evidence)
    return evidence.replacing(orders=without(evidence.orders, order))


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
    return evidence.replacing(events=without(evidence.events, events[order.order_id][-1]))


def stuck(evidence: Evidence) -> Evidence:
    order = pick((o for o in evidence.orders if o.state != "placed"), "order that came to an end")
    return evidence.replacing(orders=instead(evidence.orders, order, order._replace(state="placed")))


def key_with_two_orders(evidence: Evidence) -> Evidence:
    key = pick(evidence.keys, "idempotency key")
    return evidence.replacing(keys=[*evidence.keys, key._replace(order_id=NOBODY)])
