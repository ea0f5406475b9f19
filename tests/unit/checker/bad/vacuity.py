"""Runs that tried nothing: W01-W06, W08."""

from __future__ import annotations

from chaos.specimens import History
from tests.unit.checker.bad.bad import bad


@bad("W01")
def _(h: History) -> None:
    """a fault was injected and never struck"""
    h.fault("toothless", hits=0)


@bad("W01")
def _(h: History) -> None:
    """a fault that the scenario names was never even injected"""
    h.run["expect"]["faults"] = ["forgotten"]


@bad("W02")
def _(h: History) -> None:
    """no copy was ever published twice"""
    seen: set[str] = set()
    for copy in list(h.rows["log"]):
        if copy["event_id"] in seen:
            h.rows["log"].remove(copy)
            h.close_gap(copy)
        seen.add(copy["event_id"])
    h.finish()


@bad("W03", "W02")
def _(h: History) -> None:
    """no delivery was ever a duplicate"""
    h.rows["deliveries"] = [row for row in h.rows["deliveries"] if not row["duplicate"]]
    h.run["expect"]["owner_change"] = False


@bad("W04")
def _(h: History) -> None:
    """no cancellation ever succeeded"""
    for attempt in h.all("intents", op="cancel"):
        attempt["result"] = "info"


@bad("W05")
def _(h: History) -> None:
    """the fault struck before anything was under way"""
    for mark in h.rows["faults"]:
        mark["at"] = "2026-03-01T11:00:00.000000+00:00"


@bad("W06")
def _(h: History) -> None:
    """no partition of billing changed its owner"""
    for row in h.all("deliveries", group="billing"):
        row["instance"] = "billing-1"


@bad("W08")
def _(h: History) -> None:
    """no two events of one order were ever pending at once"""
    h.run["expect"]["pending_pairs"] = 1_000
