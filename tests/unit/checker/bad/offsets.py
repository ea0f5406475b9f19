"""Where the groups stand in the log: L02, L03."""

from __future__ import annotations

from chaos.specimens import History
from tests.unit.checker.bad.bad import bad


@bad("L02", "S17", "S20")
def _(h: History) -> None:
    """a group has not read to the end"""
    marks = h.offsets["billing"]["orders.events"]
    next(m for m in marks.values() if m["committed"])["committed"] -= 1


@bad("L02")
def _(h: History) -> None:
    """a group has no offset at all on a partition with messages"""
    marks = h.offsets["analytics"]["orders.events"]
    next(m for m in marks.values() if m["committed"])["committed"] = None


@bad("L02")
def _(h: History) -> None:
    """a group has never heard of one of its topics"""
    del h.offsets["analytics"]["billing.events"]


@bad("L03")
def _(h: History) -> None:
    """a group stands beyond the end of a partition"""
    next(iter(h.offsets["billing"]["orders.events"].values()))["committed"] = 5_000


@bad("L03")
def _(h: History) -> None:
    """retention has overtaken a group"""
    mark = next(m for m in h.offsets["billing"]["orders.events"].values() if m["committed"])
    mark.update(committed=0, low=mark["end"])
