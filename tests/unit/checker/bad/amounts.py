"""Amounts and their sums: S14, S15."""

from __future__ import annotations

from chaos.specimens import History
from tests.unit.checker.bad.bad import bad
from tests.unit.checker.bad.pick import ORDERS, cancelled, confirmed, invoice_of


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
