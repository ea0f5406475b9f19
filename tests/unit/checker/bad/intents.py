"""What clients were told, and how their orders ended: S00-S03, S24."""

from __future__ import annotations

from chaos.specimens import History, Row
from tests.unit.checker.bad.bad import bad
from tests.unit.checker.bad.pick import BILLING_OUTBOX, KEYS, ORDERS, confirmed


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
