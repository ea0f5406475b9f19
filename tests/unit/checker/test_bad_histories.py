"""Each rule finds its violations, and rules that have nothing to do with one stay quiet.

A row of the table is one corruption of a good history: the rule that must find it, and the rules that may see it too,
because the same rows are their business. Any other broken rule is a false accusation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from chaos.checker.registry import INVARIANTS
from chaos.checker.verdict import judge
from chaos.specimens import History, Row, every_shape, lane_of

Spoil = Callable[[History], None]


@dataclass(frozen=True)
class Bad:
    rule: str
    title: str
    spoil: Spoil
    also: frozenset[str] = field(default_factory=frozenset)


BAD: list[Bad] = []


def bad(rule: str, *also: str) -> Callable[[Spoil], Spoil]:
    """Register a corruption; its docstring names it."""

    def register(spoil: Spoil) -> Spoil:
        BAD.append(Bad(rule, str(spoil.__doc__), spoil, frozenset(also)))
        return spoil

    return register


ORDERS, OUTBOX, INVOICES = "db/orders/orders", "db/orders/outbox", "db/billing/invoice"
BILLING_OUTBOX, INBOX, KEYS = "db/billing/outbox", "db/billing/inbox", "db/orders/idempotency_key"


def confirmed(h: History) -> Row:
    """Return a confirmed order that no fault struck."""
    return list(h.all(ORDERS, state="confirmed"))[1]


def cancelled(h: History) -> Row:
    return h.the(ORDERS, state="cancelled", order_id=h.rows["db/billing/credit_note"][0]["order_id"])


def invoice_of(h: History, order: Row) -> Row:
    return h.the(INVOICES, order_id=order["order_id"])


def placed_event(h: History, order: Row) -> Row:
    return h.the(OUTBOX, aggregate_id=order["order_id"], type="OrderPlaced")


# S00


@bad("S00", "S23")
def _(h: History) -> None:
    """an order that was to be invoiced is declined, and everybody agrees on it"""
    order = confirmed(h)
    h.drop("mail", order_id=order["order_id"])
    h.the("intents", order_id=order["order_id"])["expect"] = "declined"
    restore = h.rows["mail"]
    h.rows["mail"] = [*restore, *_mail_again(h, order)]


def _mail_again(h: History, order: Row) -> list[Row]:
    command = h.the(BILLING_OUTBOX, type="SendInvoice", aggregate_id=order["order_id"])
    return [
        {"at": h.tick(), "message_id": command["event_id"] + "@x", "recipient": "a", "order_id": order["order_id"],
         "invoice_number": order["invoice_number"], "sha256": "", "answered": True}
    ]  # fmt: skip


@bad("S00")
def _(h: History) -> None:
    """an accepted order was for another amount than everything else says"""
    h.the("intents", order_id=confirmed(h)["order_id"])["amount_minor"] += 1


@bad("S00")
def _(h: History) -> None:
    """a cancellation was accepted, and the order is still invoiced"""
    h.attempt(confirmed(h)["order_id"], op="cancel", expect="cancelled")


# S01-S04


@bad("S01", "S00", "S04", "S13")
def _(h: History) -> None:
    """an accepted order is not in the database"""
    h.drop(ORDERS, order_id=confirmed(h)["order_id"])


@bad("S01", "S00")
def _(h: History) -> None:
    """an order was accepted and has left no trace at all"""
    h.attempt(h.new_id(), ref="vanished")


@bad("S02")
def _(h: History) -> None:
    """an order exists whose only attempt was refused"""
    order = confirmed(h)
    h.the("intents", order_id=order["order_id"]).update(result="fail", order_id=None)


@bad("S03")
def _(h: History) -> None:
    """an order exists that no client ever sent"""
    order = confirmed(h)
    h.drop("intents", order_id=order["order_id"])


@bad("S03")
def _(h: History) -> None:
    """an order exists under a key that no client ever used"""
    order = confirmed(h)
    h.the(KEYS, order_id=order["order_id"])["key"] = "forged"
    h.drop("intents", order_id=order["order_id"])


@bad("S04", "S06")
def _(h: History) -> None:
    """an order has no event in the outbox"""
    h.drop(OUTBOX, event_id=placed_event(h, confirmed(h))["event_id"])


@bad("S04")
def _(h: History) -> None:
    """an order changed its state without an event"""
    confirmed(h)["version"] += 1


@bad("S04", "L01", "S05", "S08")
def _(h: History) -> None:
    """the outbox has an event of an order that was rolled back"""
    event = dict(placed_event(h, confirmed(h)), event_id=h.new_id(), aggregate_id=h.new_id(), id=9_000, xid="999999")
    h.rows[OUTBOX].append(event)


# S05-S09, L01


@bad("S05", "L01", "S19")
def _(h: History) -> None:
    """a settled event is not in the log"""
    event = h.the(OUTBOX, type="OrderConfirmed", aggregate_id=confirmed(h)["order_id"])
    h.unpublish(event["event_id"])
    _uncount(h, "confirmed", "placed")


@bad("S05", "L01", "S19")
def _(h: History) -> None:
    """an event that the stored pass has gone beyond is not in the log"""
    event = h.the(OUTBOX, type="OrderConfirmed", aggregate_id=confirmed(h)["order_id"])
    h.unpublish(event["event_id"])
    _uncount(h, "confirmed", "placed")
    xid = int(event["xid"])
    for row in h.all("db/orders/relay_position", destination="event"):
        row.update(done=f"{xid}:{xid}:", target=f"{xid + 1}:{xid + 1}:", after_id=event["id"])


@bad("L01", "S19")
def _(h: History) -> None:
    """an event is not in the log because the relay skipped the transaction that was still running"""
    event = h.the(OUTBOX, type="OrderConfirmed", aggregate_id=confirmed(h)["order_id"])
    h.unpublish(event["event_id"])
    _uncount(h, "confirmed", "placed")
    xid = int(event["xid"])
    for row in h.all("db/orders/relay_position", destination="event"):
        row["done"] = f"{xid}:{xid + 1000}:{xid}"


def _uncount(h: History, state: str, instead: str) -> None:
    """Let the read model count an order where the shortened log puts it."""
    h.finish()
    rows = h.rows["db/analytics/orders_by_state"]
    h.the("db/analytics/orders_by_state", state=state)["orders"] -= 1
    rows.append({"state": instead, "orders": 1})


@bad("S06")
def _(h: History) -> None:
    """the log has an event that no outbox has"""
    event = h.the(OUTBOX, type="OrderConfirmed", aggregate_id=confirmed(h)["order_id"])
    h.publish({**event, "event_id": h.new_id(), "aggregate_version": 3})


@bad("S07")
def _(h: History) -> None:
    """one copy of an event has another payload"""
    event = h.rows[OUTBOX][0]
    h.publish({**event, "payload": event["payload"].replace("1999", "1998")})


@bad("S07")
def _(h: History) -> None:
    """one copy of an event has the bytes that the archiver did not sum"""
    h.rows["log"][-1]["sha256"] = "ab" * 32


@bad("S07")
def _(h: History) -> None:
    """one copy of an event has another type"""
    h.publish({**h.rows[OUTBOX][0], "type": "OrderConfirmed"})


@bad("S07")
def _(h: History) -> None:
    """all copies of an event differ from the outbox by one blank"""
    placed_event(h, confirmed(h))["payload"] += " "


@bad("S08")
def _(h: History) -> None:
    """a copy of an event is in a second partition"""
    event = h.rows[OUTBOX][0]
    home = h.the("log", event_id=event["event_id"])["partition"]
    h.publish(event, partition=(home + 1) % 4)


@bad("S09", "S10", "S07")
def _(h: History) -> None:
    """two versions of one order stand in the log the wrong way round"""
    order_id = _burst(h)
    first, second = list(h.all("log", aggregate_id=order_id, aggregate_type="order"))[:2]
    _swap(first, second, "topic", "partition", "offset")
    _follow_the_log(h)


def _burst(h: History) -> str:
    """Return an order that was cancelled before billing answered."""
    return str(next(e for e in h.all(OUTBOX, aggregate_version=2, type="OrderCancelled")
                    if '"customer"' in e["payload"])["aggregate_id"])  # fmt: skip


def _swap(one: Row, other: Row, *names: str) -> None:
    for name in names:
        one[name], other[name] = other[name], one[name]


def _follow_the_log(h: History) -> None:
    """Move inbox rows to where the first copy of their event stands now."""
    first: dict[str, Row] = {}
    for copy in sorted(h.rows["log"], key=lambda c: (c["topic"], c["partition"], c["offset"])):
        first.setdefault(copy["event_id"], copy)
    for database in ("orders", "billing", "analytics"):
        for row in h.rows[f"db/{database}/inbox"]:
            row["offset"] = first[row["event_id"]]["offset"]


# S10


@bad("S10")
def _(h: History) -> None:
    """a member took effect on version 2 before another took it on version 1"""
    rows = list(h.all(INBOX, aggregate_id=_burst(h)))
    rows[0].update(member="member-billing-2", generation=9)
    _swap(rows[0], rows[1], "applied_at")


@bad("S10")
def _(h: History) -> None:
    """one member took version 2 from a lower offset than version 1"""
    rows = list(h.all(INBOX, aggregate_id=_burst(h)))
    _swap(rows[0], rows[1], "offset")


@bad("S10", "S17", "S20")
def _(h: History) -> None:
    """a group applied version 2 and never version 1"""
    order_id = h.the(OUTBOX, aggregate_version=2, type="OrderConfirmed")["aggregate_id"]
    h.drop("db/analytics/inbox", aggregate_id=order_id, aggregate_version=1, topic="orders.events")


# S11-S16


@bad("S11", "S00", "S15", "S17", "S23")
def _(h: History) -> None:
    """an order has two invoices, each with a number of its own"""
    row = dict(invoice_of(h, confirmed(h)))
    number, sequence = h.draw("INV")
    h.rows[INVOICES].append({**row, "number": number, "sequence": sequence})


@bad("S12", "S00", "S15", "S17", "S18", "S23", "S13", "S16")
def _(h: History) -> None:
    """a placed order has neither an invoice nor a refusal"""
    order = confirmed(h)
    h.drop(INVOICES, order_id=order["order_id"])


@bad("S12", "S17", "S15", "S20")
def _(h: History) -> None:
    """a declined order was never declined by billing"""
    h.drop("db/billing/bill", state="declined")


@bad("S13", "S15", "S17", "S18")
def _(h: History) -> None:
    """an invoice is for an order that does not exist"""
    number, sequence = h.draw("INV")
    row = invoice_of(h, confirmed(h))
    h.rows[INVOICES].append({**row, "number": number, "sequence": sequence, "order_id": h.new_id()})


@bad("S13")
def _(h: History) -> None:
    """a credit note is for an invoice that its order does not have"""
    h.rows["db/billing/credit_note"][0]["invoice_number"] = invoice_of(h, confirmed(h))["number"]


@bad("S14", "S00")
def _(h: History) -> None:
    """two invoices are one cent up and one cent down, and the sums agree"""
    up, down = (invoice_of(h, order) for order in list(h.all(ORDERS, state="confirmed", currency="EUR"))[:2])
    up["amount_minor"] += 1
    down["amount_minor"] -= 1


@bad("S14")
def _(h: History) -> None:
    """an order's row says another amount than its event"""
    h.the(ORDERS, state="declined")["amount_minor"] += 1


@bad("S14")
def _(h: History) -> None:
    """a payment was taken in another currency"""
    h.rows["db/billing/payment"][0]["currency"] = "USD"


@bad("S14", "S00", "S15", "S23")
def _(h: History) -> None:
    """a refund's credit note is for another amount than the invoice"""
    h.rows["db/billing/credit_note"][0]["amount_minor"] -= 1


@bad("S15", "S14", "S00")
def _(h: History) -> None:
    """one invoice is a cent too high"""
    invoice_of(h, confirmed(h))["amount_minor"] += 1


@bad("S15", "S00", "S17", "S23", "S16")
def _(h: History) -> None:
    """a cancelled and invoiced order was never credited"""
    h.drop("db/billing/credit_note", order_id=cancelled(h)["order_id"])


@bad("S15", "S14")
def _(h: History) -> None:
    """a refusal is for more than was ordered"""
    h.the("db/billing/bill", state="declined")["amount_minor"] += 1


@bad("S16")
def _(h: History) -> None:
    """the invoice numbers have a gap"""
    last = h.rows[INVOICES][-1]
    last.update(sequence=last["sequence"] + 1, number=f"INV-2026-{last['sequence'] + 1:06d}")
    h.the("db/billing/number_series", series="INV")["next_sequence"] += 1
    _rename(h, last)


def _rename(h: History, invoice: Row) -> None:
    for mail in h.all("mail", order_id=invoice["order_id"]):
        mail["invoice_number"] = invoice["number"]
    for note in h.all("db/billing/credit_note", order_id=invoice["order_id"]):
        note["invoice_number"] = invoice["number"]


@bad("S16")
def _(h: History) -> None:
    """a number was drawn and never used"""
    h.draw("CRN")


@bad("S16")
def _(h: History) -> None:
    """two invoices bear one number"""
    one, other = h.rows[INVOICES][0], h.rows[INVOICES][-1]
    other.update(number=one["number"], sequence=one["sequence"])
    h.the("db/billing/number_series", series="INV")["next_sequence"] -= 1
    _rename(h, other)


@bad("S16")
def _(h: History) -> None:
    """an invoice's number is not the one that was drawn for it"""
    last = h.rows[INVOICES][-1]
    last["number"] = "INV-2026-999999"
    _rename(h, last)


# S17, S20-S22, S25


@bad("S17", "S20", "S10")
def _(h: History) -> None:
    """a group has consumed an event and has no inbox row for it"""
    h.drop(INBOX, event_id=placed_event(h, confirmed(h))["event_id"])


@bad("S17")
def _(h: History) -> None:
    """an inbox has an event that never stood in the log"""
    row = h.rows["db/orders/inbox"][-1]
    last = list(h.all("db/orders/inbox", aggregate_id=row["aggregate_id"]))[-1]
    h.rows["db/orders/inbox"].append(
        {**last, "event_id": h.new_id(), "aggregate_version": last["aggregate_version"] + 1,
         "offset": last["offset"] + 1_000, "applied_at": h.tick()}
    )  # fmt: skip


@bad("S17", "S10")
def _(h: History) -> None:
    """an inbox has one event twice"""
    h.rows[INBOX].append(dict(h.rows[INBOX][0]))


@bad("S17", "S00", "S23")
def _(h: History) -> None:
    """orders has seen the invoice and has not moved the order on"""
    confirmed(h)["state"] = "placed"


@bad("S17", "S19")
def _(h: History) -> None:
    """analytics counted an invoice twice"""
    row = h.rows["db/analytics/revenue"][0]
    row.update(invoices=row["invoices"] + 1, amount_minor=row["amount_minor"] + 1999)


@bad("S17", "S20")
def _(h: History) -> None:
    """analytics keeps no inbox at all and has consumed everything"""
    h.rows["db/analytics/inbox"] = []


@bad("S18")
def _(h: History) -> None:
    """a customer got a second mail under another key"""
    mail = h.rows["mail"][0]
    h.rows["mail"].append({**mail, "message_id": f"<{h.new_id()}@effectively-once.invalid>"})


@bad("S18")
def _(h: History) -> None:
    """an invoiced customer got no mail"""
    h.drop("mail", order_id=confirmed(h)["order_id"])


@bad("S18")
def _(h: History) -> None:
    """a mail speaks of another customer's invoice"""
    h.the("mail", order_id=confirmed(h)["order_id"])["invoice_number"] = "INV-2026-000999"


@bad("S18")
def _(h: History) -> None:
    """a customer whose order was declined got an invoice mail"""
    mail = dict(h.rows["mail"][0])
    mail["order_id"] = h.the(ORDERS, state="declined")["order_id"]
    h.rows["mail"].append(mail)


@bad("S19")
def _(h: History) -> None:
    """the read model lost an amount"""
    h.rows["db/analytics/revenue"][0]["amount_minor"] -= 1


@bad("S19")
def _(h: History) -> None:
    """the read model put revenue on the wrong day"""
    h.rows["db/analytics/revenue"][0]["day"] = "2026-03-02"


@bad("S19")
def _(h: History) -> None:
    """the read model counts an order in two states"""
    h.rows["db/analytics/orders_by_state"].append({"state": "placed", "orders": 1})


@bad("S19")
def _(h: History) -> None:
    """the read model moved an order to another day"""
    h.rows["db/analytics/orders_by_day"][0]["day"] = "2026-03-02"


@bad("S19")
def _(h: History) -> None:
    """the read model left an order in the state of before"""
    row = next(r for r in h.rows["db/analytics/orders_by_day"] if r["state"] == "confirmed")
    row["orders"] -= 1
    h.rows["db/analytics/orders_by_day"].append({**row, "state": "placed", "orders": 1})


@bad("S19")
def _(h: History) -> None:
    """the read model added an article to another currency"""
    h.rows["db/analytics/ordered_skus"][0]["currency"] = "XXX"


@bad("S19")
def _(h: History) -> None:
    """the read model counted an order's articles twice"""
    row = h.rows["db/analytics/ordered_skus"][0]
    row.update(orders=row["orders"] + 1, quantity=row["quantity"] + 1, amount_minor=row["amount_minor"] + 999)


@bad("S20", "S17", "S10")
def _(h: History) -> None:
    """an offset was committed beyond an event that was never applied"""
    h.drop("db/orders/inbox", event_id=h.rows["db/orders/inbox"][0]["event_id"])


@bad("S21")
def _(h: History) -> None:
    """a member of an older generation took effect after one of a newer"""
    h.run["expect"]["fencing"] = True
    rows = [r for r in h.rows[INBOX] if r["partition"] == h.rows[INBOX][0]["partition"]]
    rows[0]["generation"] = 5


@bad("S21")
def _(h: History) -> None:
    """a zombie of the first generation wakes up after its successor has worked on its partition"""
    h.run["expect"]["fencing"] = True
    for row in h.all("db/analytics/inbox"):
        row["generation"] = 7
    list(h.all("db/analytics/inbox", topic="billing.events"))[-1].update(generation=6, member="zombie")


@bad("S22", "S25")
def _(h: History) -> None:
    """an event is parked at the relay and in the log"""
    event = h.rows[OUTBOX][0]
    h.rows["db/orders/outbox_parked"].append({"outbox_id": event["id"], "state": "parked", "last_error": "x"})


@bad("S22", "S25")
def _(h: History) -> None:
    """an event is parked at billing and invoiced"""
    event = placed_event(h, confirmed(h))
    h.rows["db/billing/inbox_parked"] = [{"consumer": "billing", "event_id": event["event_id"]}]


@bad("S22", "S19", "S25")
def _(h: History) -> None:
    """an event is parked at analytics, in its inbox, and counted"""
    event = h.the(OUTBOX, type="OrderConfirmed")
    h.rows["db/analytics/inbox_parked"] = [{"consumer": "analytics", "event_id": event["event_id"]}]


@bad("S25")
def _(h: History) -> None:
    """a message that nobody could read is parked by its place, and the scenario did not spoil it"""
    h.rows["db/analytics/inbox_parked"] = [
        {"consumer": "analytics", "event_id": None, "topic": "orders.events", "partition": 0, "offset": 77}
    ]


@bad("S25")
def _(h: History) -> None:
    """an innocent row is held at the relay"""
    event = dict(h.rows[OUTBOX][-1])
    assert lane_of(event["aggregate_id"]) == event["lane"]
    h.rows["db/orders/outbox_parked"].append({"outbox_id": 77_777, "state": "held", "last_error": "behind another"})


# S23, S24


@bad("S23", "S00", "S19")
def _(h: History) -> None:
    """a declined order was confirmed"""
    h.the(ORDERS, state="declined")["state"] = "confirmed"


@bad("S23", "S00", "S15", "S17")
def _(h: History) -> None:
    """a cancelled order was credited twice"""
    note = h.the("db/billing/credit_note", order_id=cancelled(h)["order_id"])
    number, sequence = h.draw("CRN")
    h.rows["db/billing/credit_note"].append({**note, "number": number, "sequence": sequence})


@bad("S24")
def _(h: History) -> None:
    """one key stands for two orders"""
    one, other = h.rows[KEYS][0], h.rows[KEYS][1]
    h.rows[KEYS].append({**one, "order_id": other["order_id"]})


@bad("S24")
def _(h: History) -> None:
    """a repeated request was answered with another order"""
    one, other = h.rows[KEYS][0], h.rows[KEYS][1]
    attempt = h.the("intents", order_id=other["order_id"], op="place")
    h.rows["intents"].append({**attempt, "n": 10_000, "key": one["key"], "replayed": True})


# L02-L05


@bad("L02", "S17", "S20")
def _(h: History) -> None:
    """a group has not read to the end"""
    marks = h.offsets["billing"]["orders.events"]
    next(m for m in marks.values() if m["committed"])["committed"] -= 1


@bad("L02")
def _(h: History) -> None:
    """a group has no offset at all on a partition with messages"""
    marks = h.offsets["analytics"]["orders.events"]
    next(m for m in marks.values() if m["committed"])["committed"] = None


@bad("L02")
def _(h: History) -> None:
    """a group has never heard of one of its topics"""
    del h.offsets["analytics"]["billing.events"]


@bad("L03")
def _(h: History) -> None:
    """a group stands beyond the end of a partition"""
    next(iter(h.offsets["billing"]["orders.events"].values()))["committed"] = 5_000


@bad("L03")
def _(h: History) -> None:
    """retention has overtaken a group"""
    mark = next(m for m in h.offsets["billing"]["orders.events"].values() if m["committed"])
    mark.update(committed=0, low=mark["end"])


@bad("L04")
def _(h: History) -> None:
    """nothing was invoiced while the faults went on"""
    h.run["expect"]["progress"] = True
    h.rows["faults"] = []
    h.fault("late")
    for mark in h.all("faults", phase="inject"):
        h.the("faults", phase="heal")["at"] = mark["at"]
    h.run["expect"]["overlap"] = False


@bad("L04")
def _(h: History) -> None:
    """an event waited for too long while the faults went on, though invoices were issued all the time"""
    h.run["expect"].update(longest_wait_seconds=5, overlap=False)
    h.rows["faults"] = []
    h.fault("slow")
    h.the("faults", phase="inject")["at"] = h.rows["log"][0]["timestamp"]
    h.rows[INBOX][-1]["applied_at"] = "2026-03-01T12:05:00.000000+00:00"


@bad("L04")
def _(h: History) -> None:
    """a customer was told 503 while a release was rolled out"""
    first = _asked_during_a_release(h)
    first.update(result="info", status=503)


@bad("L04")
def _(h: History) -> None:
    """a customer waited for an answer for longer than a release may take, though each try was quick"""
    first = _asked_during_a_release(h)
    again = {**first, "n": 9_999, "started_at": "2026-03-01T12:05:00.000000+00:00"}
    first.update(result="info", status=None)
    h.rows["intents"].append({**again, "ended_at": "2026-03-01T12:05:00.500000+00:00"})


def _asked_during_a_release(h: History) -> Row:
    h.run["expect"].update(longest_answer_seconds=5, overlap=False)
    h.rows["faults"] = []
    h.fault("release")
    first = next(row for row in h.rows["intents"] if row["result"] == "ok")
    h.the("faults", phase="inject")["at"] = first["started_at"]
    h.the("faults", phase="heal")["at"] = "2026-03-01T12:10:00.000000+00:00"
    return first


@bad("L05")
def _(h: History) -> None:
    """the last invoice came too long after the healing"""
    h.run["expect"]["recovery_seconds"] = 0.001
    invoice = h.rows[INVOICES][-1]
    event = h.the(OUTBOX, event_id=invoice["event_id"])
    for mark in h.all("faults", phase="heal"):
        mark["at"] = event["occurred_at"]


@bad("L05")
def _(h: History) -> None:
    """one order of many got its invoice a minute late"""
    h.run["expect"]["recovery_seconds"] = 30
    for mark in h.all("faults", phase="heal"):
        mark["at"] = h.tick()
    late = h.order("invoiced", 4_200)
    h.the("faults", phase="heal")["at"] = h.the(OUTBOX, aggregate_id=late, type="OrderPlaced")["occurred_at"]
    h.the(INVOICES, order_id=late)["applied_at"] = "2026-03-01T12:05:00.000000+00:00"
    h.finish()


# W


@bad("W01")
def _(h: History) -> None:
    """a fault was injected and never struck"""
    h.fault("toothless", hits=0)


@bad("W01")
def _(h: History) -> None:
    """a fault that the scenario names was never even injected"""
    h.run["expect"]["faults"] = ["forgotten"]


@bad("W02")
def _(h: History) -> None:
    """no copy was ever published twice"""
    seen: set[str] = set()
    for copy in list(h.rows["log"]):
        if copy["event_id"] in seen:
            h.rows["log"].remove(copy)
            h.close_gap(copy)
        seen.add(copy["event_id"])
    h.finish()


@bad("W03", "W02")
def _(h: History) -> None:
    """no delivery was ever a duplicate"""
    h.rows["deliveries"] = [row for row in h.rows["deliveries"] if not row["duplicate"]]
    h.run["expect"]["owner_change"] = False


@bad("W04")
def _(h: History) -> None:
    """no cancellation ever succeeded"""
    for attempt in h.all("intents", op="cancel"):
        attempt["result"] = "info"


@bad("W05")
def _(h: History) -> None:
    """the fault struck before anything was under way"""
    for mark in h.rows["faults"]:
        mark["at"] = "2026-03-01T11:00:00.000000+00:00"


@bad("W06")
def _(h: History) -> None:
    """no partition of billing changed its owner"""
    for row in h.all("deliveries", group="billing"):
        row["instance"] = "billing-1"


@bad("W08")
def _(h: History) -> None:
    """no two events of one order were ever pending at once"""
    h.run["expect"]["pending_pairs"] = 1_000


@pytest.mark.parametrize("case", BAD, ids=lambda case: f"{case.rule}: {case.title}")
def test_a_violation_is_found_by_its_rule_and_by_no_unrelated_one(tmp_path: Path, case: Bad) -> None:
    """Every corruption of a good history is found by the rule that it breaks, and accuses no rule beside the named."""
    history = every_shape()
    case.spoil(history)
    broken = set(judge(history.write(tmp_path), canaries=False).broken)

    assert case.rule in broken
    assert broken <= {case.rule} | case.also


def test_every_rule_has_a_bad_history() -> None:
    """No rule is in the table of invariants without a hand-written history that breaks it."""
    assert {invariant.id for invariant in INVARIANTS} == {case.rule for case in BAD}
