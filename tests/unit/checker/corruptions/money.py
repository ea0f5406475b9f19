"""What may be wrong with invoices, credit notes, payments, their numbers and their sums: S11-S16."""

from __future__ import annotations

import json
from hashlib import sha256

from chaos.specimens import Row, Varied
from tests.unit.checker.corruptions.corruption import corruption
from tests.unit.checker.corruptions.pick import (
    BILLS,
    INVOICES,
    LOG,
    MAIL,
    NOTES,
    PAYMENTS,
    any_order,
    credited,
    declined,
    event_of,
    invoiced,
    order_of,
    row_of,
    some,
    swap,
)

# S11-S15: invoices and money


@corruption("S11", "S00", "S15", "S17", "S23", names_event=True)
def _(h: Varied) -> str:
    """an order has two invoices"""
    order_id = order_of(h, "invoiced", "cancelled", "cancelled_early")
    number, sequence = h.draw("INV")
    h.rows[INVOICES].append({**h.the(INVOICES, order_id=order_id), "number": number, "sequence": sequence})
    return order_id


@corruption("S11", "S00", "S15", "S16", "S17", "S23", names_event=True)
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


@corruption("S13", "S15", "S17", "S18", names_event=True)
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
    """a refusal tells of another amount, in the outbox and in every copy"""
    order_id = declined(h)
    event = event_of(h, order_id, "PaymentDeclined")
    said = json.loads(event["payload"])
    event["payload"] = json.dumps({**said, "amount_minor": said["amount_minor"] + h.dice.choice((-1, 1))})
    for copy in h.all(LOG, event_id=event["event_id"]):
        copy.update(payload=event["payload"], sha256=sha256(event["payload"].encode()).hexdigest())
    return order_id


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


@corruption("S13", "S15", "S17", "S18")
def _(h: Varied) -> str:
    """two invoices of different amounts are for two orders that are not there"""
    strangers = [h.new_id(), h.new_id()]
    for more, stranger in enumerate(strangers):
        number, sequence = h.draw("INV")
        row = h.rows[INVOICES][0]
        paper = {"number": number, "sequence": sequence, "order_id": stranger, "amount_minor": 100 + more}
        h.rows[INVOICES].append({**row, **paper})
    return strangers[1]
