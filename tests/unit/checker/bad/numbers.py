"""The numbers of invoices and credit notes: S16."""

from __future__ import annotations

from chaos.specimens import History, Row
from tests.unit.checker.bad.bad import bad
from tests.unit.checker.bad.pick import INVOICES


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
