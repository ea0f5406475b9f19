"""What may not have been tried at all: W01-W06, W08."""

from __future__ import annotations

from chaos.specimens import Varied
from tests.unit.checker.corruptions.corruption import corruption
from tests.unit.checker.corruptions.pick import INTENTS, LOG, OUTBOX, burst_orders, swap


@corruption("W01")
def _(h: Varied) -> None:
    """a fault never struck"""
    h.fault("toothless", hits=0)


@corruption("W01")
def _(h: Varied) -> None:
    """a fault was injected, and that is all that is known of it"""
    h.fault("forgotten", hits=0)
    h.rows["faults"] = [mark for mark in h.rows["faults"] if mark["fault"] != "forgotten" or mark["phase"] == "inject"]


@corruption("W01")
def _(h: Varied) -> None:
    """a fault that was expected was never injected"""
    h.run["expect"]["faults"] = ["forgotten"]


@corruption("W01", "W05")
def _(h: Varied) -> None:
    """the evidence of a hit is lost"""
    h.drop("faults", phase="hit")


def without_copies(h: Varied) -> None:
    seen: set[str | None] = set()
    for copy in list(h.rows[LOG]):
        if copy["event_id"] in seen:
            h.rows[LOG].remove(copy)
            h.close_gap(copy)
        seen.add(copy["event_id"])
    h.finish()


@corruption("W02", "W03", "W06")
def _(h: Varied) -> None:
    """no event was published twice"""
    without_copies(h)


@corruption("W02", "W03")
def _(h: Varied) -> None:
    """no delivery was a duplicate"""
    for row in h.rows["deliveries"]:
        row["duplicate"] = False


@corruption("W02", "W03", "W06")
def _(h: Varied) -> None:
    """there was neither a second copy nor a second delivery where either would do"""
    h.run["expect"]["duplicates"] = True
    without_copies(h)
    h.rows["deliveries"] = [row for row in h.rows["deliveries"] if not row["duplicate"]]


@corruption("W03", "W02")
def _(h: Varied) -> None:
    """no duplicate was turned away"""
    del h.run["expect"]["suppressed"]
    for row in h.rows["deliveries"]:
        row["duplicate"] = False


@corruption("W02", "W03", "W06")
def _(h: Varied) -> None:
    """nothing stood in the log twice, but for what nobody can read"""
    if not any(h.all(LOG, event_id=None)):
        h.set_unreadable_aside()
    without_copies(h)


@corruption("W03")
def _(h: Varied) -> None:
    """no duplicate was turned away where duplicates of any kind were expected"""
    h.run["expect"]["duplicates"] = True
    del h.run["expect"]["suppressed"]
    for row in h.rows["deliveries"]:
        row["duplicate"] = False


@corruption("W03")
def _(h: Varied) -> None:
    """no duplicate was turned away, and that was all that was asked for"""
    del h.run["expect"]["duplicates"]
    for row in h.rows["deliveries"]:
        row["duplicate"] = False


@corruption("W04")
def _(h: Varied) -> None:
    """nothing was ever repeated"""
    for attempt in h.rows[INTENTS]:
        attempt["replayed"] = False


@corruption("W04")
def _(h: Varied) -> None:
    """no cancellation succeeded"""
    for attempt in h.all(INTENTS, op="cancel"):
        attempt["result"] = "info"


@corruption("W04")
def _(h: Varied) -> None:
    """what was repeated had no answer"""
    for attempt in h.all(INTENTS, replayed=True):
        attempt["result"] = "info"


@corruption("W04")
def _(h: Varied) -> None:
    """no cancellation that was tried succeeded, and nobody had said which operations there are"""
    del h.run["expect"]["operations"]
    for attempt in h.all(INTENTS, op="cancel"):
        attempt["result"] = "info"


@corruption("W04")
def _(h: Varied) -> None:
    """no order came to its invoice as far as its client knows, and nobody had said that one should"""
    del h.run["expect"]["operations"]
    for attempt in h.all(INTENTS, op="place", expect="invoiced"):
        attempt.update(result="info", order_id=None)


@corruption("W04")
def _(h: Varied) -> None:
    """no order is known to be cancelled, though some may be"""
    h.run["expect"]["operations"] = ["cancelled"]
    for attempt in h.all(INTENTS, op="cancel"):
        attempt["result"] = "info"


@corruption("W04")
def _(h: Varied) -> None:
    """no client knows of an order that was declined"""
    h.run["expect"]["operations"] = ["declined"]
    for attempt in h.all(INTENTS, op="place", expect="declined"):
        attempt.update(result="info", order_id=None)


@corruption("W05")
def _(h: Varied) -> None:
    """the faults struck before anything was under way"""
    for mark in h.all("faults", phase="hit"):
        mark["at"] = "2026-03-01T11:00:00.000000+00:00"


@corruption("W05")
def _(h: Varied) -> None:
    """the faults struck after everything was done"""
    for mark in h.all("faults", phase="hit"):
        mark["at"] = "2026-03-01T13:00:00.000000+00:00"


@corruption("W06")
def _(h: Varied) -> None:
    """no partition of the group changed its owner"""
    for row in h.all("deliveries", group="billing"):
        row["instance"] = "billing-1"


@corruption("W06")
def _(h: Varied) -> None:
    """no partition of any group changed its owner"""
    h.run["expect"]["owner_change"] = True
    for row in h.rows["deliveries"]:
        row["instance"] = row["group"]


@corruption("W06")
def _(h: Varied) -> None:
    """no partition of the group changed its owner, and one of another group did"""
    for row in h.all("deliveries", group="billing"):
        row["instance"] = "billing-1"
    for number, row in enumerate(h.all("deliveries", group="analytics")):
        row["instance"] = f"analytics-{number % 2}"


@corruption("W06")
def _(h: Varied) -> None:
    """each partition has an owner of its own, and keeps it"""
    h.run["expect"]["owner_change"] = True
    for row in h.rows["deliveries"]:
        row["instance"] = f"{row['group']}-{row['topic']}-{row['partition']}"


@corruption("W08")
def _(h: Varied) -> None:
    """no two events of one order were pending at once"""
    h.run["expect"]["pending_pairs"] = 1_000


@corruption("W08")
def _(h: Varied) -> None:
    """two events were pending at once for one order less than was asked for"""
    h.run["expect"]["pending_pairs"] = len(burst_orders(h)) + 1


@corruption("W08")
def _(h: Varied) -> None:
    """one order less, and a transaction that drew its number first wrote the second event"""
    one, other = h.all(OUTBOX, aggregate_id=h.order("invoiced", 1_000))
    swap(one, other, "xid", "id")
    h.finish_again()
    h.run["expect"]["pending_pairs"] = len(burst_orders(h)) + 1
