"""Invoice mails: S18."""

from __future__ import annotations

from chaos.specimens import History
from tests.unit.checker.bad.bad import bad
from tests.unit.checker.bad.pick import ORDERS, confirmed


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
