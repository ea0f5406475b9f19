"""What may be wrong with what groups made of the log, and with what was set aside: S10, S17, S20-S22, S25."""

from __future__ import annotations

from chaos.specimens import Row, Varied
from tests.unit.checker.corruptions.corruption import corruption
from tests.unit.checker.corruptions.pick import (
    BILLING_OUTBOX,
    BILLS,
    INBOX_OF,
    LOG,
    NOTES,
    REVENUE,
    any_order,
    credited,
    event_of,
    invoiced,
    order_of,
    row_of,
    some,
    swap,
)

# S10: the order of effects


def two_rows(h: Varied, group: str) -> tuple[Row, Row]:
    """Return a group's rows of two versions that one member took from one partition."""
    order_id = order_of(h, "cancelled_early", "cancelled_declined", "cancelled")
    one, other = list(h.all(INBOX_OF[group], aggregate_id=order_id, topic="orders.events"))[:2]
    other.update(member=one["member"], generation=one["generation"])
    return one, other


@corruption("S10")
def _(h: Varied) -> str:
    """one member took version 2 from a lower offset than version 1"""
    one, other = two_rows(h, h.dice.choice(("billing", "analytics")))
    swap(one, other, "offset")
    return str(one["aggregate_id"])


@corruption("S10")
def _(h: Varied) -> str:
    """another member took version 2 before version 1 was there"""
    one, other = two_rows(h, h.dice.choice(("billing", "analytics")))
    swap(one, other, "applied_at")
    other["member"] = "another"
    return str(one["aggregate_id"])


@corruption("S10")
def _(h: Varied) -> str:
    """a group applied version 2 as version 3"""
    _one, other = two_rows(h, h.dice.choice(("billing", "analytics")))
    other["aggregate_version"] = 3
    return str(other["aggregate_id"])


@corruption("S10")
def _(h: Varied) -> str:
    """a group applied all that there is of something as version 2"""
    row = some(h, list(h.all(INBOX_OF["orders"], aggregate_id=invoiced(h))))
    row["aggregate_version"] = 2
    return str(row["aggregate_id"])


@corruption("S10", "S17", "S20")
def _(h: Varied) -> str:
    """a group never applied version 1"""
    order_id = order_of(h, "cancelled_early", "cancelled_declined", "cancelled")
    h.drop(INBOX_OF["analytics"], aggregate_id=order_id, aggregate_version=1, topic="orders.events")
    return order_id


# S17, S20: inbox and effects


@corruption("S17", "S20", "S10", names_event=True)
def _(h: Varied) -> str:
    """an inbox row is lost"""
    row = some(h, h.rows[INBOX_OF[h.dice.choice([*INBOX_OF])]])
    h.rows[INBOX_OF[row["consumer"]]].remove(row)
    return str(row["aggregate_id"])


@corruption("S17", "S10", names_event=True)
def _(h: Varied) -> str:
    """an inbox row stands there twice"""
    row = some(h, h.rows[INBOX_OF[h.dice.choice([*INBOX_OF])]])
    h.rows[INBOX_OF[row["consumer"]]].append(dict(row))
    return str(row["aggregate_id"])


@corruption("S17", names_event=True)
def _(h: Varied) -> str:
    """an inbox has an event that was never in the log"""
    group = h.dice.choice([*INBOX_OF])
    stranger = h.new_id()
    row = some(h, h.rows[INBOX_OF[group]])
    h.rows[INBOX_OF[group]].append({**row, "event_id": h.new_id(), "aggregate_id": stranger, "aggregate_version": 1})
    return stranger


@corruption("S17", "S00", "S23", names_event=True)
def _(h: Varied) -> str:
    """an order's outcome was taken, and it is still placed"""
    order_id = order_of(h, "invoiced", "declined")
    row_of(h, order_id)["state"] = "placed"
    return order_id


@corruption("S17", "S15")
def _(h: Varied) -> str:
    """an order was both invoiced and refused"""
    order_id = invoiced(h)
    h.rows[BILLS].append({**h.the(BILLS, order_id=order_id), "state": "declined"})
    return order_id


@corruption("S17", "S00", "S15", "S23")
def _(h: Varied) -> str:
    """a cancelled order was credited twice"""
    order_id = credited(h)
    number, sequence = h.draw("CRN")
    h.rows[NOTES].append({**h.the(NOTES, order_id=order_id), "number": number, "sequence": sequence})
    return order_id


@corruption("S17", "S19")
def _(h: Varied) -> None:
    """the read model counts an invoice too many or too few"""
    some(h, h.rows[REVENUE])["invoices"] += h.dice.choice((-1, 1))


@corruption("S20", "S17", "S10")
def _(h: Varied) -> str:
    """a committed event was never applied"""
    event = event_of(h, any_order(h))
    h.drop(INBOX_OF["billing"], event_id=event["event_id"])
    return str(event["aggregate_id"])


# S21, S22, S25: generations and parked entries


@corruption("S21", "S10", names_event=True)
def _(h: Varied) -> str:
    """a member of an older generation wrote after one of a newer"""
    table = INBOX_OF[h.dice.choice([*INBOX_OF])]
    row = some(h, h.rows[table])
    newer = {"partition": row["partition"], "topic": row["topic"]}
    h.rows[table].append(
        {**row, **newer, "event_id": row["event_id"], "applied_at": h.tick(), "generation": row["generation"]}
    )
    late = h.rows[table].pop()
    for other in h.all(table, **newer):
        other["generation"] += 1
    row.update(generation=1, applied_at=late["applied_at"])
    if sum(1 for _row in h.all(table, **newer)) == 1:
        h.rows[table].append({**row, "generation": 9, "applied_at": "2026-03-01T11:00:00.000000+00:00"})
    return str(row["aggregate_id"])


@corruption("S22", "S25")
def _(h: Varied) -> str:
    """an event is parked at the relay and in the log"""
    order_id = any_order(h)
    row = {"outbox_id": event_of(h, order_id)["id"], "state": "parked", "last_error": "x"}
    h.rows["db/orders/outbox_parked"].append(row)
    return order_id


@corruption("S22", "S25")
def _(h: Varied) -> str:
    """an event is parked at billing and has its invoice"""
    order_id = invoiced(h)
    row = {"consumer": "billing", "event_id": event_of(h, order_id)["event_id"]}
    h.rows.setdefault("db/billing/inbox_parked", []).append(row)
    return order_id


@corruption("S25", "S19", "S22", names_event=True)
def _(h: Varied) -> str:
    """an innocent message is parked"""
    order_id = any_order(h)
    row = {"consumer": "analytics", "event_id": event_of(h, order_id)["event_id"]}
    h.rows.setdefault("db/analytics/inbox_parked", []).append(row)
    return order_id


@corruption("S25", "S19")
def _(h: Varied) -> None:
    """an innocent place is parked"""
    copy = some(h, [copy for copy in h.rows[LOG] if copy["event_id"]])
    place = {name: copy[name] for name in ("topic", "partition", "offset")}
    h.rows.setdefault("db/analytics/inbox_parked", []).append({"consumer": "analytics", "event_id": None, **place})


@corruption("S25", names_event=True)
def _(h: Varied) -> str:
    """an innocent row of billing's outbox is held"""
    event = some(h, list(h.all(BILLING_OUTBOX, destination="command")))
    h.rows["db/billing/outbox_parked"].append({"outbox_id": event["id"], "state": "held", "last_error": "behind"})
    return str(event["aggregate_id"])


@corruption("S25")
def _(h: Varied) -> None:
    """a row is parked that the outbox does not have"""
    h.rows["db/orders/outbox_parked"].append({"outbox_id": 99_999, "state": "parked", "last_error": "x"})


@corruption("S22", "S19", "S25", names_event=True)
def _(h: Varied) -> None:
    """an event is parked at analytics, and its inbox has it"""
    row = some(h, h.rows[INBOX_OF["analytics"]])
    h.rows.setdefault("db/analytics/inbox_parked", []).append({"consumer": "analytics", "event_id": row["event_id"]})


@corruption("S10")
def _(h: Varied) -> str:
    """one member took two versions from one offset"""
    one, other = two_rows(h, h.dice.choice(("billing", "analytics")))
    other["offset"] = one["offset"]
    return str(one["aggregate_id"])
