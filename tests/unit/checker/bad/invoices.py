"""Invoices too many, too few, and for nobody: S11-S13."""

from __future__ import annotations

from chaos.specimens import History
from tests.unit.checker.bad.bad import bad
from tests.unit.checker.bad.pick import INVOICES, confirmed, invoice_of


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
