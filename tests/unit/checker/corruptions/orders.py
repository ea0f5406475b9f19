"""What may be wrong with orders, their outbox and the answers their clients got: S00-S04, S23, S24."""

from __future__ import annotations

from chaos.specimens import Varied
from tests.unit.checker.corruptions.corruption import corruption
from tests.unit.checker.corruptions.pick import (
    INTENTS,
    KEYS,
    NOTES,
    ORDERS,
    OUTBOX,
    any_order,
    credited,
    declined,
    event_of,
    invoiced,
    order_of,
    row_of,
    some,
)

# S00: how each order ends


@corruption("S00")
def _(h: Varied) -> str:
    """the intended amount was another"""
    order_id = order_of(h, "invoiced", "cancelled", "cancelled_early")
    h.the(INTENTS, order_id=order_id, op="place")["amount_minor"] += h.dice.choice((-1, 1))
    return order_id


@corruption("S00")
def _(h: Varied) -> str:
    """the intended currency was another"""
    order_id = order_of(h, "invoiced", "cancelled", "cancelled_early")
    h.the(INTENTS, order_id=order_id, op="place")["currency"] = "XXX"
    return order_id


@corruption("S00")
def _(h: Varied) -> str:
    """an order that was to be declined was invoiced"""
    order_id = invoiced(h)
    h.the(INTENTS, order_id=order_id)["expect"] = "declined"
    return order_id


@corruption("S00")
def _(h: Varied) -> str:
    """an order that was to be invoiced was declined"""
    order_id = declined(h)
    h.the(INTENTS, order_id=order_id)["expect"] = "invoiced"
    return order_id


@corruption("S00")
def _(h: Varied) -> str:
    """an accepted cancellation had no effect"""
    order_id = order_of(h, "invoiced", "declined")
    h.attempt(order_id, op="cancel", expect="cancelled")
    return order_id


@corruption("S00")
def _(h: Varied) -> str:
    """an order was cancelled by nobody"""
    order_id = credited(h)
    h.drop(INTENTS, order_id=order_id, op="cancel")
    return order_id


@corruption("S00")
def _(h: Varied) -> str:
    """a refused cancellation took effect all the same"""
    order_id = credited(h)
    h.the(INTENTS, order_id=order_id, op="cancel")["result"] = "fail"
    return order_id


@corruption("S00")
def _(h: Varied) -> str:
    """an order that its client meant to cancel, and could not, was cancelled all the same"""
    order_id = credited(h)
    h.the(INTENTS, order_id=order_id, op="place")["expect"] = "cancelled"
    h.the(INTENTS, order_id=order_id, op="cancel")["result"] = "fail"
    return order_id


@corruption("S00")
def _(h: Varied) -> str:
    """an order that was accepted at the second attempt was declined"""
    order_id = declined(h)
    attempt = h.the(INTENTS, order_id=order_id)
    attempt["expect"] = "invoiced"
    h.rows[INTENTS].insert(0, {**attempt, "n": 9_000, "result": "info", "order_id": None})
    return order_id


@corruption("S00")
def _(h: Varied) -> str:
    """an order that was to be declined was invoiced, and stands behind its cancellation, which was refused"""
    order_id = invoiced(h)
    h.the(INTENTS, order_id=order_id)["expect"] = "declined"
    cancelled = h.attempt(order_id, op="cancel", result="fail", expect="cancelled")
    h.rows[INTENTS].remove(cancelled)
    h.rows[INTENTS].insert(0, cancelled)
    return order_id


# S01-S04: the orders and their outbox


@corruption("S01", "S00")
def _(h: Varied) -> str:
    """an accepted order left no trace"""
    order_id = h.new_id()
    h.attempt(order_id, ref=f"vanished-{order_id}")
    return order_id


@corruption("S01", "S00", "S04", "S13")
def _(h: Varied) -> str:
    """an order's row is lost"""
    order_id = any_order(h)
    h.drop(ORDERS, order_id=order_id)
    return order_id


@corruption("S01")
def _(h: Varied) -> None:
    """an acceptance does not name its order"""
    h.the(INTENTS, order_id=any_order(h), op="place")["order_id"] = None


@corruption("S02")
def _(h: Varied) -> str:
    """a refused order exists"""
    order_id = order_of(h, "invoiced", "declined")
    h.the(INTENTS, order_id=order_id).update(result="fail", order_id=None)
    return order_id


@corruption("S02")
def _(h: Varied) -> str:
    """an order that was refused twice exists"""
    order_id = order_of(h, "invoiced", "declined")
    attempt = h.the(INTENTS, order_id=order_id)
    attempt.update(result="fail", order_id=None)
    h.rows[INTENTS].append({**attempt, "n": 9_000})
    return order_id


@corruption("S03")
def _(h: Varied) -> str:
    """an order exists that no client sent"""
    order_id = any_order(h)
    h.drop(INTENTS, order_id=order_id)
    return order_id


@corruption("S03")
def _(h: Varied) -> str:
    """an order exists under another customer's key"""
    order_id = order_of(h, "invoiced", "declined")
    h.drop(INTENTS, order_id=order_id)
    h.the(KEYS, order_id=order_id)["customer_id"] = "customer-2"
    return order_id


@corruption("S02")
def _(h: Varied) -> str:
    """a refused order exists under a name that its client had given it"""
    order_id = order_of(h, "invoiced", "declined")
    h.the(INTENTS, order_id=order_id)["result"] = "fail"
    return order_id


@corruption("S03", "S04", "S23")
def _(h: Varied) -> str:
    """an order exists twice, once under an id of nobody"""
    stranger = h.new_id()
    h.rows[ORDERS].append({**row_of(h, any_order(h)), "order_id": stranger})
    return stranger


@corruption("S04")
def _(h: Varied) -> str:
    """an order's version is one too high"""
    order_id = any_order(h)
    row_of(h, order_id)["version"] += 1
    return order_id


@corruption("S04")
def _(h: Varied) -> str:
    """an order's version is one too low"""
    order_id = any_order(h)
    row_of(h, order_id)["version"] -= 1
    return order_id


@corruption("S04", "S06")
def _(h: Varied) -> str:
    """an event of an order is not in the outbox"""
    event = some(h, list(h.all(OUTBOX, aggregate_id=any_order(h))))
    h.drop(OUTBOX, event_id=event["event_id"])
    return str(event["aggregate_id"])


@corruption("S04", "S05", "L01")
def _(h: Varied) -> str:
    """an outbox has an event of no order"""
    stranger = h.new_id()
    h.rows[OUTBOX].append({**event_of(h, any_order(h)), "event_id": h.new_id(), "aggregate_id": stranger, "id": 9_000})
    return stranger


@corruption("S04", "S07")
def _(h: Varied) -> str:
    """an event bears the version of another"""
    order_id = order_of(h, "cancelled", "cancelled_early", "cancelled_declined")
    event_of(h, order_id)["aggregate_version"] = 2
    return order_id


# S23, S24


@corruption("S23", "S00")
def _(h: Varied) -> str:
    """a declined order says that it is confirmed"""
    order_id = declined(h)
    row_of(h, order_id)["state"] = "confirmed"
    return order_id


@corruption("S23", "S00")
def _(h: Varied) -> str:
    """an invoiced order says that it is declined"""
    order_id = invoiced(h)
    row_of(h, order_id)["state"] = "declined"
    return order_id


@corruption("S23", "S00")
def _(h: Varied) -> str:
    """an invoiced order says that it is cancelled, and has no credit note"""
    order_id = invoiced(h)
    row_of(h, order_id)["state"] = "cancelled"
    return order_id


@corruption("S23", "S00")
def _(h: Varied) -> str:
    """a credited order says that it is confirmed"""
    order_id = credited(h)
    row_of(h, order_id)["state"] = "confirmed"
    return order_id


@corruption("S23", "S00", "S14", "S15")
def _(h: Varied) -> str:
    """a credit note is of another amount"""
    order_id = credited(h)
    h.the(NOTES, order_id=order_id)["amount_minor"] += 1
    return order_id


@corruption("S24")
def _(h: Varied) -> str:
    """one key stands for two orders"""
    one, other = h.dice.sample(h.rows[KEYS], 2)
    h.rows[KEYS].append({**one, "order_id": other["order_id"]})
    return str(one["order_id"])


@corruption("S24")
def _(h: Varied) -> str:
    """a repeated request was answered with another order"""
    one, other = h.dice.sample([*h.plain["invoiced"]], 2)
    attempt = h.the(INTENTS, order_id=other, op="place")
    h.rows[INTENTS].append({**attempt, "n": 9_000, "key": f"key-{one}", "replayed": True})
    return one
