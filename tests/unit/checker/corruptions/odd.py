"""What is odd in a history and breaks nothing: at the very edge of a bound, or not asked for by its scenario."""

from __future__ import annotations

import json
from hashlib import sha256

from chaos.specimens import Varied
from tests.unit.checker.corruptions.corruption import blinding, odd
from tests.unit.checker.corruptions.effects import two_rows
from tests.unit.checker.corruptions.log import without_a_version
from tests.unit.checker.corruptions.pick import (
    BILLING_OUTBOX,
    INBOX_OF,
    INTENTS,
    INVOICES,
    KEYS,
    LOG,
    MAIL,
    OUTBOX,
    REVENUE,
    STATES,
    burst_orders,
    came,
    event_of,
    first_invoice,
    invoiced,
    later,
    set_times,
    some,
    swap,
)
from tests.unit.checker.corruptions.vacuity import without_copies

LONG_BEFORE, LONG_AFTER = "2026-03-01T11:00:00.000000+00:00", "2026-03-01T13:00:00.000000+00:00"


@odd
def _(h: Varied) -> None:
    """nothing was expected of a run in which nothing went well but safety"""
    poisoned = h.run["expect"].get("poisoned", [])
    h.run["expect"] = {"poisoned": poisoned}
    set_times(h, LONG_BEFORE, "inject", "hit", "heal")
    for row in h.rows["deliveries"]:
        row.update(duplicate=False, instance=row["group"])


@odd
def _(h: Varied) -> None:
    """a run without a fault"""
    expect = h.run["expect"]
    h.run["expect"] = {name: value for name, value in expect.items() if name != "overlap"}
    h.rows["faults"] = []


# Waits and recovery


@odd
def _(h: Varied) -> None:
    """something waited exactly as long as it may"""
    h.run["expect"]["fencing"] = False
    row = some(h, h.rows[INBOX_OF["orders"]])
    set_times(h, came(h, row), "inject")
    set_times(h, LONG_AFTER, "heal")
    row["applied_at"] = later(came(h, row), 60)


@odd
def _(h: Varied) -> None:
    """customers asked one after the other for longer than one may wait, and one waited exactly as long as that"""
    set_times(h, LONG_BEFORE, "inject")
    set_times(h, LONG_AFTER, "heal")
    asked = sorted(h.rows[INTENTS], key=lambda attempt: attempt["started_at"])
    asked[0]["ended_at"] = later(asked[0]["started_at"], 10)
    h.run["expect"]["longest_answer_seconds"] = 10
    for number, attempt in enumerate(asked[1:], 2):
        attempt.update(started_at=later(attempt["started_at"], number), ended_at=later(attempt["started_at"], number))


@odd
def _(h: Varied) -> None:
    """something waited long, and came into the log before the first blow or after the healing"""
    h.run["expect"]["fencing"] = False
    rows = [row for table in INBOX_OF.values() for row in h.rows[table]]
    rows.sort(key=lambda row: came(h, row))
    set_times(h, later(came(h, rows[0]), 0.000001), "inject")
    set_times(h, later(came(h, rows[-1]), -0.000001), "heal")
    for row in (rows[0], rows[-1]):
        row["applied_at"] = later(row["applied_at"], 600)


@odd
def _(h: Varied) -> None:
    """the log does not say when anything came"""
    for copy in h.rows[LOG]:
        copy["timestamp"] = None
    for row in h.rows[INBOX_OF["billing"]]:
        row["applied_at"] = later(row["applied_at"], 600)
    h.run["expect"]["pending_pairs"] = len(burst_orders(h))


@odd
def _(h: Varied) -> None:
    """a fault struck and was healed at the very moment of one invoice"""
    moment = some(h, h.rows[INVOICES])["applied_at"]
    set_times(h, moment, "inject", "hit", "heal")


@odd
def _(h: Varied) -> None:
    """a fault was injected and never healed"""
    h.drop("faults", phase="heal")


@odd
def _(h: Varied) -> None:
    """a fault was healed that nobody has injected"""
    h.drop("faults", phase="inject")


@odd
def _(h: Varied) -> None:
    """an order that was owed came exactly as late as it may"""
    order_id = h.order("invoiced", 1_500)
    healed = event_of(h, order_id)["occurred_at"]
    set_times(h, healed, "heal")
    h.the(INVOICES, order_id=order_id)["applied_at"] = later(healed, 30)
    h.finish_again()


# Offsets


@odd
def _(h: Varied) -> None:
    """retention has taken everything that a group had read"""
    for topics in h.offsets.values():
        for marks in topics.values():
            for mark in marks.values():
                mark["low"] = mark["end"]
                mark["committed"] = mark["end"]


@odd
def _(h: Varied) -> None:
    """retention has taken everything, and a group has no offset there"""
    group = h.dice.choice([*h.offsets])
    for marks in h.offsets[group].values():
        for mark in marks.values():
            mark.update(low=mark["end"], committed=None)


@odd
def _(h: Varied) -> None:
    """a group that nobody asked about is behind"""
    marks = h.offsets["billing"]["orders.events"]
    behind = {number: {**mark, "committed": None} for number, mark in marks.items()}
    h.offsets["somebody's"] = {"orders.events": behind}


# What has to appear


@odd
def _(h: Varied) -> None:
    """the one copy that the log has twice is not enough for two kinds of duplicates, and either would do"""
    h.run["expect"].update(duplicates=True, owner_change=False, suppressed=False)
    for row in h.rows["deliveries"]:
        row["duplicate"] = False


@odd
def _(h: Varied) -> None:
    """only deliveries were doubled where either would do"""
    h.run["expect"].update(duplicates=True, owner_change=False)
    without_copies(h)


@odd
def _(h: Varied) -> None:
    """only copies in the log were expected, and no inbox had to turn any away"""
    del h.run["expect"]["suppressed"]
    h.run["expect"]["duplicates"] = ["log"]
    for row in h.rows["deliveries"]:
        row["duplicate"] = False


@odd
def _(h: Varied) -> None:
    """some partition of any group had to change its owner, and one did"""
    h.run["expect"]["owner_change"] = True


@odd
def _(h: Varied) -> None:
    """the one operation that was asked for succeeded"""
    h.run["expect"]["operations"] = [h.dice.choice(h.run["expect"]["operations"])]


@odd
def _(h: Varied) -> None:
    """what every client tried succeeded, and nobody had said what that would be"""
    del h.run["expect"]["operations"]


@odd
def _(h: Varied) -> None:
    """a fault struck exactly a second before the first order that was invoiced"""
    began, _ended = first_invoice(h)
    set_times(h, later(began, -1), "hit")


@odd
def _(h: Varied) -> None:
    """a fault struck in the moment in which the last invoice came"""
    set_times(h, max(invoice["applied_at"] for invoice in h.rows[INVOICES]), "hit")


@odd
def _(h: Varied) -> None:
    """for exactly as many orders as were asked for two events were pending at once"""
    h.run["expect"]["pending_pairs"] = len(burst_orders(h))


@odd
def _(h: Varied) -> None:
    """a second event was written in the moment in which the first one came into the log"""
    order_id = h.dice.choice(h.plain["invoiced"])
    confirmed = event_of(h, order_id, "OrderConfirmed")
    confirmed["occurred_at"] = h.the(LOG, event_id=event_of(h, order_id)["event_id"])["timestamp"]
    h.run["expect"]["pending_pairs"] = len(burst_orders(h))


@odd
def _(h: Varied) -> None:
    """an outbox lists its rows in any order"""
    for table in (OUTBOX, BILLING_OUTBOX):
        h.dice.shuffle(h.rows[table])
    h.run["expect"]["pending_pairs"] = len(burst_orders(h))


@odd
def _(h: Varied) -> None:
    """every table but the log lists its rows in any order"""
    for table, rows in h.rows.items():
        if table not in (LOG, INTENTS, "deliveries", "faults"):
            h.dice.shuffle(rows)


# Orders


@odd
def _(h: Varied) -> None:
    """what had no answer was for another amount than what was accepted"""
    attempt = h.the(INTENTS, order_id=invoiced(h))
    before = {**attempt, "n": 9_000, "result": "info", "order_id": None, "amount_minor": 1}
    h.rows[INTENTS].insert(0, before)


@odd
def _(h: Varied) -> None:
    """a client asked to cancel an order that is not there, since its placing had no answer"""
    h.attempt(None, result="info", ref="unclear")
    h.attempt(h.new_id(), op="cancel", result="fail", ref="unclear")


@odd
def _(h: Varied) -> None:
    """a client foretold nothing"""
    for attempt in h.all(INTENTS, op="place"):
        if attempt["order_id"] in (*h.plain["invoiced"], *h.plain["declined"]):
            attempt["expect"] = None
    h.run["expect"]["operations"] = ["place", "cancel", "replayed"]


@odd
def _(h: Varied) -> None:
    """an order's idempotency key has expired"""
    h.drop(KEYS, order_id=invoiced(h))


# The log and those who read it


@odd
def _(h: Varied) -> None:
    """a scenario put a message into the log that names an order and no version"""
    without_a_version(h)
    h.finish_again()


@odd
def _(h: Varied) -> None:
    """ids say nothing about the sequence of events, nor does the sequence of inbox rows"""
    names: dict[str, str] = {}
    for row in [*h.rows[OUTBOX], *h.rows[BILLING_OUTBOX]]:
        names[row["event_id"]] = f"{h.dice.getrandbits(64):016x}"
    for rows in h.rows.values():
        for row in rows:
            if row.get("event_id") in names:
                row["event_id"] = names[row["event_id"]]
            if "message_id" in row:
                before = row["message_id"].strip("<>").partition("@")[0]
                row["message_id"] = f"<{names[before]}@effectively-once.invalid>"
    poisoned = h.run["expect"].get("poisoned", ())
    h.run["expect"]["poisoned"] = [names.get(name, name) for name in poisoned]
    for table in INBOX_OF.values():
        h.dice.shuffle(h.rows[table])


@odd
def _(h: Varied) -> None:
    """another member applied the next version in the same moment"""
    one, other = two_rows(h, h.dice.choice(("billing", "analytics")))
    other.update(member="another", applied_at=one["applied_at"])


@odd
def _(h: Varied) -> None:
    """another member applied the next version in the same moment, by a copy that stands before that of the first"""
    one, other = two_rows(h, h.dice.choice(("billing", "analytics")))
    other.update(member="another", applied_at=one["applied_at"])
    swap(one, other, "offset")


@odd
def _(h: Varied) -> None:
    """a group has joined and not yet read anything"""
    h.run["groups"]["latecomer"] = []


@blinding("S10", "S20", "S21")
def _(h: Varied) -> None:
    """a group has read and keeps no inbox"""
    h.run["groups"]["unrecorded"] = []
    h.offsets["unrecorded"] = {"orders.events": {"0": {"committed": 1, "low": 0, "end": 1}}}


@odd
def _(h: Varied) -> None:
    """analytics has set a spoiled invoice aside, and does not count it"""
    order_id = invoiced(h)
    event = event_of(h, order_id, "InvoiceIssued")
    h.run["expect"]["poisoned"] = [*h.run["expect"].get("poisoned", ()), event["event_id"]]
    h.drop(INBOX_OF["analytics"], event_id=event["event_id"])
    parked = {"consumer": "analytics", "event_id": event["event_id"]}
    h.rows.setdefault("db/analytics/inbox_parked", []).append(parked)
    invoice = h.the(INVOICES, order_id=order_id)
    revenue = h.the(REVENUE, day=invoice["issued_at"][:10], currency=invoice["currency"])
    revenue["invoices"] -= 1
    revenue["amount_minor"] -= invoice["amount_minor"]


@odd
def _(h: Varied) -> None:
    """the read model has rows of nothing"""
    h.rows[STATES].append({"state": "forgotten", "orders": 0})
    h.rows[REVENUE].append(
        {"day": "2026-02-28", "currency": "EUR", "invoices": 0, "amount_minor": 0, "credited_minor": 0}
    )


@odd
def _(h: Varied) -> None:
    """the read model keeps its sums in several rows"""
    for row in [row for row in h.rows[REVENUE] if row["invoices"] > 1]:
        h.rows[REVENUE].append({**row, "invoices": 1, "amount_minor": 3, "credited_minor": 5})
        row["invoices"] -= 1
        row["amount_minor"] -= 3
        row["credited_minor"] -= 5


@odd
def _(h: Varied) -> None:
    """an order names an article in two lines"""
    event = event_of(h, invoiced(h))
    mug = {"sku": "mug", "quantity": 1, "unit_price_minor": 500}
    said = json.loads(event["payload"])
    payload = json.dumps({**said, "lines": [*(line for line in said["lines"] if line["sku"] != "mug"), mug, mug]})
    for row in [event, *h.all(LOG, event_id=event["event_id"])]:
        row.update(payload=payload, sha256=sha256(payload.encode()).hexdigest())


@odd
def _(h: Varied) -> None:
    """the sink does not know which order a mail is for"""
    for mail in h.rows[MAIL]:
        mail.update(order_id=None, invoice_number=None)


@odd
def _(h: Varied) -> None:
    """messages that look like orders and name none, with different amounts, were put into the log and set aside"""
    for amount in (100, 200):
        copy = without_a_version(h)
        payload = json.dumps({"currency": "EUR", "amount_minor": amount})
        copy.update(event_id=f"spoiled {amount}", type="OrderPlaced", aggregate_id=None, payload=payload)
        copy["sha256"] = sha256(payload.encode()).hexdigest()
        for group in ("billing", "analytics"):
            h.the(f"db/{group}/inbox_parked", event_id="spoiled")["event_id"] = copy["event_id"]
    h.finish_again()
