"""What may not have come, or too late: L02-L05."""

from __future__ import annotations

from chaos.specimens import Row, Varied
from tests.unit.checker.corruptions.corruption import corruption
from tests.unit.checker.corruptions.pick import INBOX_OF, INTENTS, INVOICES, came, event_of, later, set_times, some


def mark_of(h: Varied, at_least: int = 1) -> Row:
    topics = [marks for group in h.offsets.values() for marks in group.values()]
    return some(h, [mark for marks in topics for mark in marks.values() if mark["end"] >= at_least])


@corruption("L02")
def _(h: Varied) -> None:
    """a group is behind by some messages"""
    mark = mark_of(h, 2)
    mark["committed"] -= h.dice.randint(1, 2)


@corruption("L02")
def _(h: Varied) -> None:
    """a group is behind by one message"""
    mark_of(h)["committed"] -= 1


@corruption("L02")
def _(h: Varied) -> None:
    """a group has no offset where there are messages"""
    mark_of(h)["committed"] = None


@corruption("L02")
def _(h: Varied) -> None:
    """a group knows nothing of one of its topics"""
    del h.offsets["analytics"][h.dice.choice(("orders.events", "billing.events"))]


@corruption("L02")
def _(h: Varied) -> None:
    """a group is not among those that the broker knows"""
    del h.offsets[h.dice.choice([*h.offsets])]


@corruption("L03")
def _(h: Varied) -> None:
    """a group stands beyond the end"""
    mark = mark_of(h)
    mark["committed"] = mark["end"] + h.dice.randint(1, 9)


@corruption("L03")
def _(h: Varied) -> None:
    """retention has overtaken a group"""
    mark = mark_of(h)
    mark.update(committed=mark["end"] - 1, low=mark["end"])


@corruption("L04", "W05")
def _(h: Varied) -> None:
    """nothing was invoiced while the faults went on"""
    for mark, moment in zip(h.rows["faults"], ["2026-03-01T11:00:00.000000+00:00"] * 99, strict=False):
        mark["at"] = moment


@corruption("L04", "W05")
def _(h: Varied) -> None:
    """nothing was invoiced while the faults went on, where no bound for a wait is set"""
    del h.run["expect"]["longest_wait_seconds"]
    set_times(h, "2026-03-01T11:00:00.000000+00:00", "inject", "hit", "heal")


@corruption("L04", "S21", names_event=True)
def _(h: Varied) -> str:
    """something waited longer than it may while the faults went on"""
    row = some(h, _during_the_faults(h))
    row["applied_at"] = "2026-03-01T12:30:00.000000+00:00"
    return str(row["aggregate_id"])


@corruption("L04", "S21", names_event=True)
def _(h: Varied) -> str:
    """the last that came into the log while the faults went on waited longer than it may, and that was asked alone"""
    del h.run["expect"]["progress"]
    row = _during_the_faults(h)[-1]
    row["applied_at"] = "2026-03-01T12:30:00.000000+00:00"
    return str(row["aggregate_id"])


@corruption("L04", "S21", names_event=True)
def _(h: Varied) -> str:
    """what came into the log with the first blow waited longer than it may"""
    row = some(h, _during_the_faults(h))
    set_times(h, came(h, row), "inject")
    row["applied_at"] = "2026-03-01T12:30:00.000000+00:00"
    return str(row["aggregate_id"])


@corruption("L04", "S21", names_event=True)
def _(h: Varied) -> str:
    """what came into the log with the healing waited longer than it may"""
    row = some(h, _during_the_faults(h))
    set_times(h, came(h, row), "heal")
    row["applied_at"] = "2026-03-01T12:30:00.000000+00:00"
    return str(row["aggregate_id"])


def _during_the_faults(h: Varied) -> list[Row]:
    begun, healed = h.the("faults", phase="inject")["at"], h.the("faults", phase="heal")["at"]
    rows = [row for table in INBOX_OF.values() for row in h.rows[table]]
    return [row for row in rows if begun < came(h, row) < healed]


@corruption("L05")
def _(h: Varied) -> str:
    """an order that was owed came too late"""
    order_id = h.order("invoiced", 1_500)
    h.the("faults", phase="heal")["at"] = event_of(h, order_id)["occurred_at"]
    h.the(INVOICES, order_id=order_id)["applied_at"] = "2026-03-01T12:30:00.000000+00:00"
    h.finish_again()
    return order_id


def _asked_meanwhile(h: Varied) -> Row:
    """Return an attempt, with the faults going on from before it until long after."""
    set_times(h, "2026-03-01T11:00:00.000000+00:00", "inject")
    set_times(h, "2026-03-01T13:00:00.000000+00:00", "heal")
    h.run["expect"]["longest_answer_seconds"] = 10
    return h.the(INTENTS, order_id=h.dice.choice(h.plain["invoiced"]))


@corruption("L04")
def _(h: Varied) -> str:
    """a customer had to wait longer for an answer than it may while the faults went on"""
    attempt = _asked_meanwhile(h)
    attempt["ended_at"] = "2026-03-01T12:30:00.000000+00:00"
    return str(attempt["order_id"])


@corruption("L04")
def _(h: Varied) -> str:
    """a customer was answered with an error of the server while the faults went on"""
    attempt = _asked_meanwhile(h)
    attempt["status"] = 500
    return str(attempt["order_id"])


@corruption("L04")
def _(h: Varied) -> str:
    """a customer asked again, and the answers together took longer than they may"""
    attempt = _asked_meanwhile(h)
    _asked_before(h, attempt, 9)
    attempt["ended_at"] = later(attempt["started_at"], 2)
    return str(attempt["order_id"])


@corruption("L04")
def _(h: Varied) -> str:
    """the last that was asked while the faults went on was answered late, and that was with the healing"""
    attempt = _asked_meanwhile(h)
    _only_while_asking(h, attempt)
    attempt["ended_at"] = later(attempt["started_at"], 11)
    return str(attempt["order_id"])


def _only_while_asking(h: Varied, attempt: Row) -> None:
    """Let the faults begin and end in the moment of this attempt."""
    h.run["expect"]["progress"] = False
    for phase in ("inject", "heal"):
        set_times(h, attempt["started_at"], phase)


def _asked_before(h: Varied, attempt: Row, seconds: float) -> None:
    """Write down an attempt of the same request without an answer, so much earlier, as the first of the journal."""
    began = later(attempt["started_at"], -seconds)
    earlier = {**attempt, "n": 0, "started_at": began, "ended_at": None, "result": "info", "status": None}
    h.rows[INTENTS].insert(0, earlier)
