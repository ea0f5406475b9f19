"""What may be wrong with the mails that customers get: S18."""

from __future__ import annotations

from chaos.specimens import Varied
from tests.unit.checker.corruptions.corruption import corruption
from tests.unit.checker.corruptions.pick import INVOICES, MAIL, declined, event_of, invoiced, order_of, some

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


@corruption("S18")
def _(h: Varied) -> str:
    """an order's mail was commanded twice and came twice"""
    order_id = invoiced(h)
    command = h.emit("email", order_id, "SendInvoice", destination="command")
    mail = h.the(MAIL, order_id=order_id)
    h.rows[MAIL].append({**mail, "message_id": f"<{command['event_id']}@effectively-once.invalid>"})
    h.finish_again()
    return order_id


@corruption("S18")
def _(h: Varied) -> None:
    """a mail names no order, and no command is called as it is"""
    mail = some(h, h.rows[MAIL])
    h.rows[MAIL].append({**mail, "message_id": f"<{h.new_id()}@effectively-once.invalid>", "order_id": None})


@corruption("S18")
def _(h: Varied) -> str:
    """one mail never came, and the mail of a later order names another invoice"""
    first, last = h.rows[INVOICES][0], h.rows[INVOICES][-1]
    h.drop(MAIL, order_id=first["order_id"])
    h.the(MAIL, order_id=last["order_id"])["invoice_number"] = "INV-2026-999999"
    return str(last["order_id"])
