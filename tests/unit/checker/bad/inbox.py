"""What the groups applied: S10, S17, S20, S21."""

from __future__ import annotations

from chaos.specimens import History
from tests.unit.checker.bad.bad import bad
from tests.unit.checker.bad.pick import INBOX, OUTBOX, burst, confirmed, placed_event, swap


@bad("S10")
def _(h: History) -> None:
    """a member took effect on version 2 before another took it on version 1"""
    rows = list(h.all(INBOX, aggregate_id=burst(h)))
    rows[0].update(member="member-billing-2", generation=9)
    swap(rows[0], rows[1], "applied_at")


@bad("S10")
def _(h: History) -> None:
    """one member took version 2 from a lower offset than version 1"""
    rows = list(h.all(INBOX, aggregate_id=burst(h)))
    swap(rows[0], rows[1], "offset")


@bad("S10", "S17", "S20")
def _(h: History) -> None:
    """a group applied version 2 and never version 1"""
    order_id = h.the(OUTBOX, aggregate_version=2, type="OrderConfirmed")["aggregate_id"]
    h.drop("db/analytics/inbox", aggregate_id=order_id, aggregate_version=1, topic="orders.events")


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
