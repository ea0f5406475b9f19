"""Corruptions of a good history at a place that the dice choose: for each rule several, each by a name.

A corruption says which rule must find it, and which others may see it because the same rows are their business. It
returns the order that the rule has to name, or None where it speaks of no order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from chaos.checker.finding import Counterexample
from chaos.specimens import PARTITIONS, Row, Varied

Spoil = Callable[[Varied], str | None]


@dataclass(frozen=True)
class Corruption:
    rule: str
    title: str
    spoil: Spoil
    also: frozenset[str]


CORRUPTIONS: list[Corruption] = []

NAME_THEIR_EVENT = frozenset({"S05", "S06", "S07", "S08", "S09", "S10", "S12", "S20", "S21", "S22", "L01", "L05"})
"""Rules that speak of one event: where they name an order, they name the event too."""


def points_at(rule: str, order_id: str | None, found: Iterable[Counterexample]) -> bool:
    """Say whether what a rule found leads a reader to the order that was spoiled."""
    if order_id is None:
        return True
    named = [one for one in found if one.order_id == order_id]
    return any(one.event_id or rule not in NAME_THEIR_EVENT for one in named)


def corruption(rule: str, *also: str) -> Callable[[Spoil], Spoil]:
    def register(spoil: Spoil) -> Spoil:
        CORRUPTIONS.append(Corruption(rule, str(spoil.__doc__), spoil, frozenset(also)))
        return spoil

    return register


ORDERS, KEYS, INTENTS, LOG, MAIL = "db/orders/orders", "db/orders/idempotency_key", "intents", "log", "mail"
OUTBOX, BILLING_OUTBOX = "db/orders/outbox", "db/billing/outbox"
INVOICES, NOTES, BILLS, PAYMENTS = (f"db/billing/{t}" for t in ("invoice", "credit_note", "bill", "payment"))
REVENUE, STATES = "db/analytics/revenue", "db/analytics/orders_by_state"
DAYS, SKUS = "db/analytics/orders_by_day", "db/analytics/ordered_skus"
INBOX_OF = {"billing": "db/billing/inbox", "orders": "db/orders/inbox", "analytics": "db/analytics/inbox"}


def some(h: Varied, rows: list[Row]) -> Row:
    return h.dice.choice(rows)


def order_of(h: Varied, *shapes: str) -> str:
    """Return an order of one of these shapes to which nothing unusual happened."""
    return h.dice.choice([order_id for shape in shapes for order_id in h.plain[shape]])


def row_of(h: Varied, order_id: str) -> Row:
    return h.the(ORDERS, order_id=order_id)


def invoiced(h: Varied) -> str:
    return order_of(h, "invoiced")


def credited(h: Varied) -> str:
    return order_of(h, "cancelled", "cancelled_early")


def declined(h: Varied) -> str:
    return order_of(h, "declined")


def any_order(h: Varied) -> str:
    return order_of(h, "invoiced", "declined", "cancelled", "cancelled_early", "cancelled_declined")


def event_of(h: Varied, order_id: str, kind: str = "OrderPlaced") -> Row:
    return h.the(OUTBOX if kind.startswith("Order") else BILLING_OUTBOX, aggregate_id=order_id, type=kind)


def first_copy(h: Varied, event: Row) -> Row:
    return h.the(LOG, event_id=event["event_id"])


def swap(one: Row, other: Row, *names: str) -> None:
    for name in names:
        one[name], other[name] = other[name], one[name]


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
    h.rows[INTENTS].insert(0, {**attempt, "n": 9_000, "result": "info"})
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


# S05-S09, L01: outbox and log


def unpublish(h: Varied, event: Row) -> None:
    """Take an order's confirmation out of the log, and let the read model count what is left."""
    order_id = event["aggregate_id"]
    h.unpublish(event["event_id"])
    h.untold.add(order_id)
    h.finish()
    h.rows[STATES].append({"state": "placed", "orders": 1})
    day, currency = event["occurred_at"][:10], row_of(h, order_id)["currency"]
    h.rows[DAYS].append({"day": day, "currency": currency, "state": "placed", "orders": 1})


@corruption("S05", "L01")
def _(h: Varied) -> str:
    """a settled event is not in the log"""
    order_id = invoiced(h)
    unpublish(h, event_of(h, order_id, "OrderConfirmed"))
    return order_id


@corruption("S05", "L01")
def _(h: Varied) -> str:
    """an event that a stored pass has gone over is not in the log"""
    order_id = invoiced(h)
    event = event_of(h, order_id, "OrderConfirmed")
    unpublish(h, event)
    xid = int(event["xid"])
    for row in h.all("db/orders/relay_position", destination="event"):
        row.update(done=f"{xid}:{xid}:", target=f"{xid + 1}:{xid + 1}:", after_id=event["id"])
    return order_id


@corruption("S05", "L01")
def _(h: Varied) -> str:
    """an event that was still running for others, and not by the position, is not in the log"""
    order_id = invoiced(h)
    event = event_of(h, order_id, "OrderConfirmed")
    unpublish(h, event)
    xid = int(event["xid"])
    for row in h.all("db/orders/relay_position", destination="event"):
        row["done"] = f"{xid - 1}:{xid + 1}:{xid - 1}"
    return order_id


@corruption("L01")
def _(h: Varied) -> str:
    """an event was left out for a transaction that was still running"""
    order_id = invoiced(h)
    event = event_of(h, order_id, "OrderConfirmed")
    unpublish(h, event)
    xid = int(event["xid"])
    for row in h.all("db/orders/relay_position", destination="event"):
        row["done"] = f"{xid}:{xid + 1000}:{xid}"
    return order_id


@corruption("L01")
def _(h: Varied) -> str:
    """an event came after everything that the relay has looked at"""
    order_id = invoiced(h)
    event = event_of(h, order_id, "OrderConfirmed")
    unpublish(h, event)
    xid = int(event["xid"])
    for row in h.all("db/orders/relay_position", destination="event"):
        row.update(done=f"{xid}:{xid}:", target=f"{xid + 1}:{xid + 1}:", after_id=event["id"] - 1)
    return order_id


@corruption("S06")
def _(h: Varied) -> str:
    """the log has an event of no outbox"""
    order_id = order_of(h, "invoiced")
    h.publish({**event_of(h, order_id, "OrderConfirmed"), "event_id": h.new_id(), "aggregate_version": 3})
    h.finish_again()
    return order_id


@corruption("S06", "S17", "S20")
def _(h: Varied) -> None:
    """the log has a message that nobody can read, and the scenario did not put it there"""
    copy = h.publish(event_of(h, any_order(h)))
    copy.update(event_id=None, type=None, aggregate_type=None, aggregate_id=None, aggregate_version=None)
    h.finish()


@corruption("S07")
def _(h: Varied) -> str:
    """a later copy has another payload"""
    order_id = any_order(h)
    event = event_of(h, order_id)
    h.publish({**event, "payload": event["payload"] + " "})
    h.finish()
    return order_id


@corruption("S07")
def _(h: Varied) -> str:
    """the first copy has another payload"""
    order_id = any_order(h)
    copy = first_copy(h, event_of(h, order_id))
    copy["payload"] += " "
    copy["sha256"] = "ab" * 32
    return order_id


@corruption("S07")
def _(h: Varied) -> str:
    """the archiver's sum is not that of what it kept"""
    copy = some(h, [copy for copy in h.rows[LOG] if copy["event_id"]])
    copy["sha256"] = "cd" * 32
    return str(copy["aggregate_id"])


@corruption("S07")
def _(h: Varied) -> str:
    """a later copy has another type"""
    order_id = any_order(h)
    h.publish({**event_of(h, order_id), "type": "OrderReplaced"})
    h.finish()
    return order_id


@corruption("S07")
def _(h: Varied) -> str:
    """a later copy has another version"""
    order_id = any_order(h)
    h.publish({**event_of(h, order_id), "aggregate_version": 2})
    h.finish()
    return order_id


@corruption("S07")
def _(h: Varied) -> str:
    """a later copy has another kind of aggregate"""
    order_id = any_order(h)
    h.publish(event_of(h, order_id))["aggregate_type"] = "bill"
    h.finish()
    return order_id


@corruption("S07", "S08")
def _(h: Varied) -> str:
    """a later copy belongs to another aggregate"""
    other = any_order(h)
    copy = h.publish(event_of(h, invoiced(h)))
    copy["aggregate_id"] = other if other != copy["aggregate_id"] else "somebody"
    h.finish()
    return str(copy["aggregate_id"])


@corruption("S08")
def _(h: Varied) -> str:
    """a copy is in a second partition"""
    order_id = any_order(h)
    event = event_of(h, order_id)
    h.publish(event, partition=(first_copy(h, event)["partition"] + h.dice.randint(1, PARTITIONS - 1)) % PARTITIONS)
    h.finish()
    return order_id


def follow_the_log(h: Varied) -> None:
    """Move inbox rows to where the first copy of their event stands now."""
    first: dict[str, Row] = {}
    for copy in sorted(h.rows[LOG], key=lambda c: (c["topic"], c["partition"], c["offset"])):
        first.setdefault(copy["event_id"], copy)
    for table in INBOX_OF.values():
        for row in h.rows[table]:
            row["offset"] = first[row["event_id"]]["offset"]


@corruption("S09", "S10")
def _(h: Varied) -> str:
    """two versions stand in the log the wrong way round"""
    order_id = order_of(h, "cancelled_early", "cancelled_declined")
    one, other = (first_copy(h, event_of(h, order_id, kind)) for kind in ("OrderPlaced", "OrderCancelled"))
    swap(one, other, "topic", "partition", "offset")
    follow_the_log(h)
    return order_id


# S10: the order of effects


def two_rows(h: Varied, group: str) -> tuple[Row, Row]:
    """Return a group's rows of two versions that one member took from one partition."""
    order_id = order_of(h, "cancelled_early", "cancelled_declined", "cancelled")
    one, other = list(h.all(INBOX_OF[group], aggregate_id=order_id, topic="orders.events"))[:2]
    other.update(member=one["member"], generation=one["generation"])
    return one, other


@corruption("S10")
def _(h: Varied) -> str:
    """one member took version 2 from a lower offset than version 1"""
    one, other = two_rows(h, h.dice.choice(("billing", "analytics")))
    swap(one, other, "offset")
    return str(one["aggregate_id"])


@corruption("S10")
def _(h: Varied) -> str:
    """another member took version 2 before version 1 was there"""
    one, other = two_rows(h, h.dice.choice(("billing", "analytics")))
    swap(one, other, "applied_at")
    other["member"] = "another"
    return str(one["aggregate_id"])


@corruption("S10")
def _(h: Varied) -> str:
    """a group applied version 2 as version 3"""
    _one, other = two_rows(h, h.dice.choice(("billing", "analytics")))
    other["aggregate_version"] = 3
    return str(other["aggregate_id"])


@corruption("S10", "S17", "S20")
def _(h: Varied) -> str:
    """a group never applied version 1"""
    order_id = order_of(h, "cancelled_early", "cancelled_declined", "cancelled")
    h.drop(INBOX_OF["analytics"], aggregate_id=order_id, aggregate_version=1, topic="orders.events")
    return order_id


# S11-S15: invoices and money


@corruption("S11", "S00", "S15", "S17", "S23")
def _(h: Varied) -> str:
    """an order has two invoices"""
    order_id = order_of(h, "invoiced", "cancelled", "cancelled_early")
    number, sequence = h.draw("INV")
    h.rows[INVOICES].append({**h.the(INVOICES, order_id=order_id), "number": number, "sequence": sequence})
    return order_id


@corruption("S11", "S00", "S15", "S16", "S17", "S23")
def _(h: Varied) -> str:
    """an invoice's row stands there twice"""
    order_id = order_of(h, "invoiced", "cancelled", "cancelled_early")
    h.rows[INVOICES].append(dict(h.the(INVOICES, order_id=order_id)))
    return order_id


@corruption("S12", "S00", "S15", "S16", "S17", "S18", "S23")
def _(h: Varied) -> str:
    """an order was never invoiced"""
    order_id = invoiced(h)
    h.drop(INVOICES, order_id=order_id)
    return order_id


@corruption("S12", "S15", "S17")
def _(h: Varied) -> str:
    """a refusal was never recorded"""
    order_id = order_of(h, "declined", "cancelled_declined")
    h.drop(BILLS, order_id=order_id)
    return order_id


@corruption("S12", "S15", "S17")
def _(h: Varied) -> str:
    """a refused bill is open"""
    order_id = order_of(h, "declined", "cancelled_declined")
    h.the(BILLS, order_id=order_id)["state"] = "open"
    return order_id


@corruption("S13", "S15", "S17", "S18")
def _(h: Varied) -> str:
    """an invoice is for nobody"""
    stranger = h.new_id()
    number, sequence = h.draw("INV")
    row = some(h, h.rows[INVOICES])
    h.rows[INVOICES].append({**row, "number": number, "sequence": sequence, "order_id": stranger})
    return stranger


@corruption("S13", "S00", "S14", "S15", "S17", "S23")
def _(h: Varied) -> str:
    """a credit note is for an invoice of another order"""
    order_id, other = invoiced(h), some(h, h.rows[NOTES])
    number, sequence = h.draw("CRN")
    h.rows[NOTES].append({**other, "number": number, "sequence": sequence, "order_id": order_id})
    return order_id


@corruption("S13")
def _(h: Varied) -> str:
    """a credit note names an invoice that its order does not have"""
    note = some(h, h.rows[NOTES])
    note["invoice_number"] = "INV-2026-999999"
    return str(note["order_id"])


@corruption("S14", "S00")
def _(h: Varied) -> str:
    """one cent more on one invoice and one cent less on another of the same currency"""
    up, down = h.order("invoiced", 2_000, "EUR"), h.order("invoiced", 3_000, "EUR")
    h.finish_again()
    h.the(INVOICES, order_id=up)["amount_minor"] += 1
    h.the(INVOICES, order_id=down)["amount_minor"] -= 1
    return h.dice.choice((up, down))


@corruption("S14")
def _(h: Varied) -> str:
    """an order's row says another amount"""
    order_id = any_order(h)
    row_of(h, order_id)["amount_minor"] += h.dice.choice((-1, 1))
    return order_id


@corruption("S14")
def _(h: Varied) -> str:
    """an order's row says another currency"""
    order_id = any_order(h)
    row_of(h, order_id)["currency"] = "XXX"
    return order_id


@corruption("S14")
def _(h: Varied) -> str:
    """a payment was of another amount"""
    payment = some(h, h.rows[PAYMENTS])
    payment["amount_minor"] += h.dice.choice((-1, 1))
    return str(payment["order_id"])


@corruption("S14")
def _(h: Varied) -> str:
    """a payment was in another currency"""
    payment = some(h, h.rows[PAYMENTS])
    payment["currency"] = "XXX"
    return str(payment["order_id"])


@corruption("S14", "S00", "S15", "S23")
def _(h: Varied) -> str:
    """a refund is of another amount than the invoice"""
    order_id = credited(h)
    h.the(NOTES, order_id=order_id)["amount_minor"] += h.dice.choice((-1, 1))
    return order_id


@corruption("S14", "S00", "S15", "S23")
def _(h: Varied) -> str:
    """a refund is in another currency than the invoice"""
    order_id = credited(h)
    h.the(NOTES, order_id=order_id)["currency"] = "XXX"
    return order_id


@corruption("S15", "S00", "S14", "S23")
def _(h: Varied) -> None:
    """an invoice is of another amount"""
    h.the(INVOICES, order_id=order_of(h, "invoiced", "cancelled"))["amount_minor"] += h.dice.choice((-1, 1))


@corruption("S15")
def _(h: Varied) -> None:
    """a refusal was of another amount"""
    h.the(BILLS, order_id=order_of(h, "declined", "cancelled_declined"))["amount_minor"] += h.dice.choice((-1, 1))


@corruption("S15")
def _(h: Varied) -> None:
    """a refusal was in another currency"""
    h.the(BILLS, order_id=order_of(h, "declined", "cancelled_declined"))["currency"] = "XXX"


@corruption("S15", "S00", "S16", "S17", "S23")
def _(h: Varied) -> None:
    """a cancelled order was never credited"""
    h.drop(NOTES, order_id=credited(h))


# S16: numbers


@corruption("S16", "S13", "S18")
def _(h: Varied) -> str:
    """two papers have swapped their numbers in words"""
    one, other = h.dice.sample(h.rows[INVOICES], 2)
    swap(one, other, "number")
    return str(one["order_id"])


@corruption("S16")
def _(h: Varied) -> str:
    """the numbers have a gap"""
    series = h.dice.choice(("INV", "CRN"))
    table = INVOICES if series == "INV" else NOTES
    first = h.dice.randint(2, len(h.rows[table]))
    for row in h.rows[table]:
        if row["sequence"] >= first:
            renumber(h, row, row["sequence"] + 1)
    h.the("db/billing/number_series", series=series)["next_sequence"] += 1
    return str(h.the(table, sequence=first + 1)["order_id"])


def renumber(h: Varied, paper: Row, sequence: int) -> None:
    before = paper["number"]
    paper.update(sequence=sequence, number=f"{paper['series']}-{paper['year']}-{sequence:06d}")
    for table in (MAIL, NOTES):
        for row in h.rows[table]:
            if row["invoice_number"] == before and row["order_id"] == paper["order_id"]:
                row["invoice_number"] = paper["number"]


@corruption("S16")
def _(h: Varied) -> str:
    """one number was given twice"""
    first, last = h.rows[INVOICES][0], h.rows[INVOICES][-1]
    h.the("db/billing/number_series", series="INV")["next_sequence"] -= 1
    renumber(h, last, h.dice.randint(1, last["sequence"] - 1))
    return str(last["order_id"]) if last["sequence"] != first["sequence"] else None


@corruption("S16")
def _(h: Varied) -> None:
    """a number was drawn and not used"""
    h.draw(h.dice.choice(("INV", "CRN")))


@corruption("S16")
def _(h: Varied) -> None:
    """a counter is behind"""
    some(h, h.rows["db/billing/number_series"])["next_sequence"] -= 1


@corruption("S16")
def _(h: Varied) -> None:
    """a series of numbers has two counters"""
    rows = h.rows["db/billing/number_series"]
    rows.append(dict(some(h, rows)))


@corruption("S16")
def _(h: Varied) -> None:
    """a series of numbers has no counter"""
    h.rows["db/billing/number_series"].pop(h.dice.randrange(2))


@corruption("S16")
def _(h: Varied) -> None:
    """a counter counts for a series without papers"""
    h.rows["db/billing/number_series"].append({"series": "INV", "year": 2025, "next_sequence": h.dice.randint(2, 9)})


# S17, S20: inbox and effects


@corruption("S17", "S20", "S10")
def _(h: Varied) -> str:
    """an inbox row is lost"""
    row = some(h, h.rows[INBOX_OF[h.dice.choice([*INBOX_OF])]])
    h.rows[INBOX_OF[row["consumer"]]].remove(row)
    return str(row["aggregate_id"])


@corruption("S17", "S10")
def _(h: Varied) -> str:
    """an inbox row stands there twice"""
    row = some(h, h.rows[INBOX_OF[h.dice.choice([*INBOX_OF])]])
    h.rows[INBOX_OF[row["consumer"]]].append(dict(row))
    return str(row["aggregate_id"])


@corruption("S17")
def _(h: Varied) -> str:
    """an inbox has an event that was never in the log"""
    group = h.dice.choice([*INBOX_OF])
    stranger = h.new_id()
    row = some(h, h.rows[INBOX_OF[group]])
    h.rows[INBOX_OF[group]].append({**row, "event_id": h.new_id(), "aggregate_id": stranger, "aggregate_version": 1})
    return stranger


@corruption("S17", "S00", "S23")
def _(h: Varied) -> str:
    """an order's outcome was taken, and it is still placed"""
    order_id = order_of(h, "invoiced", "declined")
    row_of(h, order_id)["state"] = "placed"
    return order_id


@corruption("S17", "S15")
def _(h: Varied) -> str:
    """an order was both invoiced and refused"""
    order_id = invoiced(h)
    h.rows[BILLS].append({**h.the(BILLS, order_id=order_id), "state": "declined"})
    return order_id


@corruption("S17", "S00", "S15", "S23")
def _(h: Varied) -> str:
    """a cancelled order was credited twice"""
    order_id = credited(h)
    number, sequence = h.draw("CRN")
    h.rows[NOTES].append({**h.the(NOTES, order_id=order_id), "number": number, "sequence": sequence})
    return order_id


@corruption("S17", "S19")
def _(h: Varied) -> None:
    """the read model counts an invoice too many or too few"""
    some(h, h.rows[REVENUE])["invoices"] += h.dice.choice((-1, 1))


@corruption("S20", "S17", "S10")
def _(h: Varied) -> str:
    """a committed event was never applied"""
    event = event_of(h, any_order(h))
    h.drop(INBOX_OF["billing"], event_id=event["event_id"])
    return str(event["aggregate_id"])


# S18: mails


@corruption("S18")
def _(h: Varied) -> str:
    """a second mail came under another key"""
    mail = some(h, h.rows[MAIL])
    h.rows[MAIL].append({**mail, "message_id": f"<{h.new_id()}@effectively-once.invalid>"})
    return str(mail["order_id"])


@corruption("S18")
def _(h: Varied) -> str:
    """a mail never came"""
    order_id = order_of(h, "invoiced", "cancelled", "cancelled_early")
    h.drop(MAIL, order_id=order_id)
    return order_id


@corruption("S18")
def _(h: Varied) -> str:
    """a mail names another invoice"""
    mail = some(h, h.rows[MAIL])
    mail["invoice_number"] = "INV-2026-999999"
    return str(mail["order_id"])


@corruption("S18")
def _(h: Varied) -> str:
    """a declined order's customer got an invoice mail"""
    order_id = declined(h)
    h.rows[MAIL].append({**some(h, h.rows[MAIL]), "order_id": order_id})
    return order_id


@corruption("S18")
def _(h: Varied) -> str:
    """a mail has the key of an event that is no command"""
    order_id = order_of(h, "invoiced", "cancelled")
    h.the(MAIL, order_id=order_id)["message_id"] = event_of(h, order_id)["event_id"] + "@x"
    return order_id


# S19: the read model


@corruption("S19")
def _(h: Varied) -> None:
    """revenue is off by a little"""
    some(h, h.rows[REVENUE])["amount_minor"] += h.dice.choice((-1, 1))


@corruption("S19")
def _(h: Varied) -> None:
    """what was credited is off by a little"""
    some(h, h.rows[REVENUE])["credited_minor"] += h.dice.choice((-1, 1))


@corruption("S19")
def _(h: Varied) -> None:
    """revenue stands under another day"""
    some(h, h.rows[REVENUE])["day"] = "2026-02-28"


@corruption("S19")
def _(h: Varied) -> None:
    """revenue stands under another currency"""
    some(h, h.rows[REVENUE])["currency"] = "XXX"


@corruption("S19")
def _(h: Varied) -> None:
    """one order is counted in a state that it is not in"""
    some(h, h.rows[STATES])["orders"] += h.dice.choice((-1, 1))


@corruption("S19")
def _(h: Varied) -> None:
    """one order is counted on a day on which it was not placed"""
    some(h, h.rows[DAYS])["day"] = "2026-02-28"


@corruption("S19")
def _(h: Varied) -> None:
    """one order is counted in a currency in which it was not placed"""
    some(h, h.rows[DAYS])["currency"] = "XXX"


@corruption("S19")
def _(h: Varied) -> None:
    """one article was ordered once more or less"""
    row = some(h, h.rows[SKUS])
    row[h.dice.choice([name for name, value in row.items() if isinstance(value, int)])] += h.dice.choice((-1, 1))


@corruption("S19", "S17")
def _(h: Varied) -> None:
    """a line of revenue is lost"""
    h.rows[REVENUE].remove(some(h, [row for row in h.rows[REVENUE] if row["amount_minor"]]))


@corruption("S19", "S17")
def _(h: Varied) -> None:
    """a row of the read model stands there twice"""
    rows = h.rows[h.dice.choice((REVENUE, STATES, DAYS, SKUS))]
    rows.append(dict(some(h, rows)))


# S21, S22, S25: generations and parked entries


@corruption("S21", "S10")
def _(h: Varied) -> str:
    """a member of an older generation wrote after one of a newer"""
    table = INBOX_OF[h.dice.choice([*INBOX_OF])]
    row = some(h, h.rows[table])
    newer = {"partition": row["partition"], "topic": row["topic"]}
    h.rows[table].append(
        {**row, **newer, "event_id": row["event_id"], "applied_at": h.tick(), "generation": row["generation"]}
    )
    late = h.rows[table].pop()
    for other in h.all(table, **newer):
        other["generation"] += 1
    row.update(generation=1, applied_at=late["applied_at"])
    if sum(1 for _row in h.all(table, **newer)) == 1:
        h.rows[table].append({**row, "generation": 9, "applied_at": "2026-03-01T11:00:00.000000+00:00"})
    return str(row["aggregate_id"])


@corruption("S22", "S25")
def _(h: Varied) -> str:
    """an event is parked at the relay and in the log"""
    order_id = any_order(h)
    row = {"outbox_id": event_of(h, order_id)["id"], "state": "parked", "last_error": "x"}
    h.rows["db/orders/outbox_parked"].append(row)
    return order_id


@corruption("S22", "S25")
def _(h: Varied) -> str:
    """an event is parked at billing and has its invoice"""
    order_id = invoiced(h)
    row = {"consumer": "billing", "event_id": event_of(h, order_id)["event_id"]}
    h.rows.setdefault("db/billing/inbox_parked", []).append(row)
    return order_id


@corruption("S25", "S19", "S22")
def _(h: Varied) -> str:
    """an innocent message is parked"""
    order_id = any_order(h)
    row = {"consumer": "analytics", "event_id": event_of(h, order_id)["event_id"]}
    h.rows.setdefault("db/analytics/inbox_parked", []).append(row)
    return order_id


@corruption("S25", "S19")
def _(h: Varied) -> None:
    """an innocent place is parked"""
    copy = some(h, [copy for copy in h.rows[LOG] if copy["event_id"]])
    place = {name: copy[name] for name in ("topic", "partition", "offset")}
    h.rows.setdefault("db/analytics/inbox_parked", []).append({"consumer": "analytics", "event_id": None, **place})


@corruption("S25")
def _(h: Varied) -> str:
    """an innocent row of billing's outbox is held"""
    event = some(h, list(h.all(BILLING_OUTBOX, destination="command")))
    h.rows["db/billing/outbox_parked"].append({"outbox_id": event["id"], "state": "held", "last_error": "behind"})
    return str(event["aggregate_id"])


@corruption("S25")
def _(h: Varied) -> None:
    """a row is parked that the outbox does not have"""
    h.rows["db/orders/outbox_parked"].append({"outbox_id": 99_999, "state": "parked", "last_error": "x"})


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


# L02-L05


def mark_of(h: Varied, at_least: int = 1) -> Row:
    topics = [marks for group in h.offsets.values() for marks in group.values()]
    return some(h, [mark for marks in topics for mark in marks.values() if mark["end"] >= at_least])


@corruption("L02")
def _(h: Varied) -> None:
    """a group is behind by some messages"""
    mark = mark_of(h, 2)
    mark["committed"] -= h.dice.randint(1, 2)


@corruption("L02")
def _(h: Varied) -> None:
    """a group has no offset where there are messages"""
    mark_of(h)["committed"] = None


@corruption("L02")
def _(h: Varied) -> None:
    """a group knows nothing of one of its topics"""
    del h.offsets["analytics"][h.dice.choice(("orders.events", "billing.events"))]


@corruption("L02")
def _(h: Varied) -> None:
    """a group is not among those that the broker knows"""
    del h.offsets[h.dice.choice([*h.offsets])]


@corruption("L03")
def _(h: Varied) -> None:
    """a group stands beyond the end"""
    mark = mark_of(h)
    mark["committed"] = mark["end"] + h.dice.randint(1, 9)


@corruption("L03")
def _(h: Varied) -> None:
    """retention has overtaken a group"""
    mark = mark_of(h)
    mark.update(committed=mark["end"] - 1, low=mark["end"])


@corruption("L04", "W05")
def _(h: Varied) -> None:
    """nothing was invoiced while the faults went on"""
    for mark, moment in zip(h.rows["faults"], ["2026-03-01T11:00:00.000000+00:00"] * 99, strict=False):
        mark["at"] = moment


@corruption("L04", "S21")
def _(h: Varied) -> str:
    """something waited longer than it may while the faults went on"""
    h.run["expect"]["longest_wait_seconds"] = 60
    row = some(h, _during_the_faults(h))
    row["applied_at"] = "2026-03-01T12:30:00.000000+00:00"
    return str(row["aggregate_id"])


def _during_the_faults(h: Varied) -> list[Row]:
    begun, healed = h.the("faults", phase="inject")["at"], h.the("faults", phase="heal")["at"]
    copies = {copy["event_id"]: copy for copy in reversed(h.rows[LOG]) if copy["event_id"]}
    rows = [row for table in INBOX_OF.values() for row in h.rows[table]]
    return [row for row in rows if begun < copies[row["event_id"]]["timestamp"] < healed]


@corruption("L05")
def _(h: Varied) -> str:
    """an order that was owed came too late"""
    order_id = h.order("invoiced", 1_500)
    h.the("faults", phase="heal")["at"] = event_of(h, order_id)["occurred_at"]
    h.the(INVOICES, order_id=order_id)["applied_at"] = "2026-03-01T12:30:00.000000+00:00"
    h.finish_again()
    return order_id


# W


@corruption("W01")
def _(h: Varied) -> None:
    """a fault never struck"""
    h.fault("toothless", hits=0)


@corruption("W01")
def _(h: Varied) -> None:
    """a fault that was expected was never injected"""
    h.run["expect"]["faults"] = ["forgotten"]


@corruption("W01", "W05")
def _(h: Varied) -> None:
    """the evidence of a hit is lost"""
    h.drop("faults", phase="hit")


def without_copies(h: Varied) -> None:
    seen: set[str | None] = set()
    for copy in list(h.rows[LOG]):
        if copy["event_id"] in seen:
            h.rows[LOG].remove(copy)
            h.close_gap(copy)
        seen.add(copy["event_id"])
    h.finish()


@corruption("W02", "W03", "W06")
def _(h: Varied) -> None:
    """no event was published twice"""
    without_copies(h)


@corruption("W02", "W03")
def _(h: Varied) -> None:
    """no delivery was a duplicate"""
    for row in h.rows["deliveries"]:
        row["duplicate"] = False


@corruption("W02", "W03", "W06")
def _(h: Varied) -> None:
    """there was neither a second copy nor a second delivery where either would do"""
    h.run["expect"]["duplicates"] = True
    without_copies(h)
    h.rows["deliveries"] = [row for row in h.rows["deliveries"] if not row["duplicate"]]


@corruption("W03", "W02")
def _(h: Varied) -> None:
    """no duplicate was turned away"""
    del h.run["expect"]["suppressed"]
    for row in h.rows["deliveries"]:
        row["duplicate"] = False


@corruption("W04")
def _(h: Varied) -> None:
    """nothing was ever repeated"""
    for attempt in h.rows[INTENTS]:
        attempt["replayed"] = False


@corruption("W04")
def _(h: Varied) -> None:
    """no cancellation succeeded"""
    for attempt in h.all(INTENTS, op="cancel"):
        attempt["result"] = "info"


@corruption("W05")
def _(h: Varied) -> None:
    """the faults struck before anything was under way"""
    for mark in h.all("faults", phase="hit"):
        mark["at"] = "2026-03-01T11:00:00.000000+00:00"


@corruption("W05")
def _(h: Varied) -> None:
    """the faults struck after everything was done"""
    for mark in h.all("faults", phase="hit"):
        mark["at"] = "2026-03-01T13:00:00.000000+00:00"


@corruption("W06")
def _(h: Varied) -> None:
    """no partition of the group changed its owner"""
    for row in h.all("deliveries", group="billing"):
        row["instance"] = "billing-1"


@corruption("W06")
def _(h: Varied) -> None:
    """no partition of any group changed its owner"""
    h.run["expect"]["owner_change"] = True
    for row in h.rows["deliveries"]:
        row["instance"] = row["group"]


@corruption("W08")
def _(h: Varied) -> None:
    """no two events of one order were pending at once"""
    h.run["expect"]["pending_pairs"] = 1_000
