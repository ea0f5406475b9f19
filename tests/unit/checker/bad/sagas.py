"""Orders that come to no end: S23."""

from __future__ import annotations

from chaos.specimens import History
from tests.unit.checker.bad.bad import bad
from tests.unit.checker.bad.pick import ORDERS, cancelled


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
