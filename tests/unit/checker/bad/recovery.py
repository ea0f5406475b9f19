"""What the faults kept from happening in time: L04, L05."""

from __future__ import annotations

from chaos.specimens import History, Row
from tests.unit.checker.bad.bad import bad
from tests.unit.checker.bad.pick import INBOX, INVOICES, OUTBOX


@bad("L04")
def _(h: History) -> None:
    """nothing was invoiced while the faults went on"""
    h.run["expect"]["progress"] = True
    h.rows["faults"] = []
    h.fault("late")
    for mark in h.all("faults", phase="inject"):
        h.the("faults", phase="heal")["at"] = mark["at"]
    h.run["expect"]["overlap"] = False


@bad("L04")
def _(h: History) -> None:
    """an event waited for too long while the faults went on, though invoices were issued all the time"""
    h.run["expect"].update(longest_wait_seconds=5, overlap=False)
    h.rows["faults"] = []
    h.fault("slow")
    h.the("faults", phase="inject")["at"] = h.rows["log"][0]["timestamp"]
    h.rows[INBOX][-1]["applied_at"] = "2026-03-01T12:05:00.000000+00:00"


@bad("L04")
def _(h: History) -> None:
    """a customer was told 503 while a release was rolled out"""
    first = _asked_during_a_release(h)
    first.update(result="info", status=503)


@bad("L04")
def _(h: History) -> None:
    """a customer waited for an answer for longer than a release may take, though each try was quick"""
    first = _asked_during_a_release(h)
    again = {**first, "n": 9_999, "started_at": "2026-03-01T12:05:00.000000+00:00"}
    first.update(result="info", status=None)
    h.rows["intents"].append({**again, "ended_at": "2026-03-01T12:05:00.500000+00:00"})


def _asked_during_a_release(h: History) -> Row:
    h.run["expect"].update(longest_answer_seconds=5, overlap=False)
    h.rows["faults"] = []
    h.fault("release")
    first = next(row for row in h.rows["intents"] if row["result"] == "ok")
    h.the("faults", phase="inject")["at"] = first["started_at"]
    h.the("faults", phase="heal")["at"] = "2026-03-01T12:10:00.000000+00:00"
    return first


@bad("L05")
def _(h: History) -> None:
    """the last invoice came too long after the healing"""
    h.run["expect"]["recovery_seconds"] = 0.001
    invoice = h.rows[INVOICES][-1]
    event = h.the(OUTBOX, event_id=invoice["event_id"])
    for mark in h.all("faults", phase="heal"):
        mark["at"] = event["occurred_at"]


@bad("L05")
def _(h: History) -> None:
    """one order of many got its invoice a minute late"""
    h.run["expect"]["recovery_seconds"] = 30
    for mark in h.all("faults", phase="heal"):
        mark["at"] = h.tick()
    late = h.order("invoiced", 4_200)
    h.the("faults", phase="heal")["at"] = h.the(OUTBOX, aggregate_id=late, type="OrderPlaced")["occurred_at"]
    h.the(INVOICES, order_id=late)["applied_at"] = "2026-03-01T12:05:00.000000+00:00"
    h.finish()
