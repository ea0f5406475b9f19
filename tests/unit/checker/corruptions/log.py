"""What may be wrong between outbox and log: S05-S09, L01."""

from __future__ import annotations

from chaos.specimens import PARTITIONS, Row, Varied
from tests.unit.checker.corruptions.corruption import corruption
from tests.unit.checker.corruptions.pick import (
    DAYS,
    INBOX_OF,
    LOG,
    STATES,
    any_order,
    event_of,
    first_copy,
    invoiced,
    order_of,
    row_of,
    some,
    swap,
)

# S05-S09, L01: outbox and log


def unpublish(h: Varied, event: Row) -> None:
    """Take an order's confirmation out of the log, and let the read model count what is left."""
    order_id = event["aggregate_id"]
    h.unpublish(event["event_id"])
    h.untold.add(order_id)
    h.finish()
    h.rows[STATES].append({"state": "placed", "orders": 1})
    day, currency = event["occurred_at"][:10], row_of(h, order_id)["currency"]
    h.rows[DAYS].append({"day": day, "currency": currency, "state": "placed", "orders": 1})


@corruption("S05", "L01")
def _(h: Varied) -> str:
    """a settled event is not in the log"""
    order_id = invoiced(h)
    unpublish(h, event_of(h, order_id, "OrderConfirmed"))
    return order_id


@corruption("S05", "L01")
def _(h: Varied) -> str:
    """an event that a stored pass has gone over is not in the log"""
    order_id = invoiced(h)
    event = event_of(h, order_id, "OrderConfirmed")
    unpublish(h, event)
    xid = int(event["xid"])
    for row in h.all("db/orders/relay_position", destination="event"):
        row.update(done=f"{xid}:{xid}:", target=f"{xid + 1}:{xid + 1}:", after_id=event["id"])
    return order_id


@corruption("S05", "L01")
def _(h: Varied) -> str:
    """an event that was still running for others, and not by the position, is not in the log"""
    order_id = invoiced(h)
    event = event_of(h, order_id, "OrderConfirmed")
    unpublish(h, event)
    xid = int(event["xid"])
    for row in h.all("db/orders/relay_position", destination="event"):
        row["done"] = f"{xid - 1}:{xid + 1}:{xid - 1}"
    return order_id


@corruption("L01")
def _(h: Varied) -> str:
    """an event was left out for a transaction that was still running"""
    order_id = invoiced(h)
    event = event_of(h, order_id, "OrderConfirmed")
    unpublish(h, event)
    xid = int(event["xid"])
    for row in h.all("db/orders/relay_position", destination="event"):
        row["done"] = f"{xid}:{xid + 1000}:{xid}"
    return order_id


@corruption("L01")
def _(h: Varied) -> str:
    """an event came after everything that the relay has looked at"""
    order_id = invoiced(h)
    event = event_of(h, order_id, "OrderConfirmed")
    unpublish(h, event)
    xid = int(event["xid"])
    for row in h.all("db/orders/relay_position", destination="event"):
        row.update(done=f"{xid}:{xid}:", target=f"{xid + 1}:{xid + 1}:", after_id=event["id"] - 1)
    return order_id


@corruption("S06")
def _(h: Varied) -> str:
    """the log has an event of no outbox"""
    order_id = order_of(h, "invoiced")
    h.publish({**event_of(h, order_id, "OrderConfirmed"), "event_id": h.new_id(), "aggregate_version": 3})
    h.finish_again()
    return order_id


@corruption("S06", "S17", "S20")
def _(h: Varied) -> None:
    """the log has a message that nobody can read, and the scenario did not put it there"""
    copy = h.publish(event_of(h, any_order(h)))
    copy.update(event_id=None, type=None, aggregate_type=None, aggregate_id=None, aggregate_version=None)
    h.finish()


@corruption("S07")
def _(h: Varied) -> str:
    """a later copy has another payload"""
    order_id = any_order(h)
    event = event_of(h, order_id)
    h.publish({**event, "payload": event["payload"] + " "})
    h.finish()
    return order_id


@corruption("S07", "S06")
def _(h: Varied) -> str:
    """two copies of an event of no outbox have different payloads"""
    order_id = order_of(h, "invoiced")
    event = {**event_of(h, order_id, "OrderConfirmed"), "event_id": h.new_id(), "aggregate_version": 3}
    h.publish(event)
    h.publish({**event, "payload": event["payload"] + " "})
    h.finish_again()
    return order_id


@corruption("S07")
def _(h: Varied) -> str:
    """the first copy has another payload"""
    order_id = any_order(h)
    copy = first_copy(h, event_of(h, order_id))
    copy["payload"] += " "
    copy["sha256"] = "ab" * 32
    return order_id


@corruption("S07")
def _(h: Varied) -> str:
    """the archiver's sum is not that of what it kept"""
    copy = some(h, [copy for copy in h.rows[LOG] if copy["event_id"]])
    copy["sha256"] = "cd" * 32
    return str(copy["aggregate_id"])


@corruption("S07")
def _(h: Varied) -> str:
    """a later copy has another type"""
    order_id = any_order(h)
    h.publish({**event_of(h, order_id), "type": "OrderReplaced"})
    h.finish()
    return order_id


@corruption("S07")
def _(h: Varied) -> str:
    """a later copy has another version"""
    order_id = any_order(h)
    h.publish({**event_of(h, order_id), "aggregate_version": 2})
    h.finish()
    return order_id


@corruption("S07")
def _(h: Varied) -> str:
    """a later copy has another kind of aggregate"""
    order_id = any_order(h)
    h.publish(event_of(h, order_id))["aggregate_type"] = "bill"
    h.finish()
    return order_id


@corruption("S07", "S08")
def _(h: Varied) -> str:
    """a later copy belongs to another aggregate"""
    other = any_order(h)
    copy = h.publish(event_of(h, invoiced(h)))
    copy["aggregate_id"] = other if other != copy["aggregate_id"] else "somebody"
    h.finish()
    return str(copy["aggregate_id"])


@corruption("S08")
def _(h: Varied) -> str:
    """a copy is in a second partition"""
    order_id = any_order(h)
    event = event_of(h, order_id)
    h.publish(event, partition=(first_copy(h, event)["partition"] + h.dice.randint(1, PARTITIONS - 1)) % PARTITIONS)
    h.finish()
    return order_id


def follow_the_log(h: Varied) -> None:
    """Move inbox rows to where the first copy of their event stands now."""
    first: dict[str, Row] = {}
    for copy in sorted(h.rows[LOG], key=lambda c: (c["topic"], c["partition"], c["offset"])):
        first.setdefault(copy["event_id"], copy)
    for table in INBOX_OF.values():
        for row in h.rows[table]:
            row["offset"] = first[row["event_id"]]["offset"]


@corruption("S09", "S10")
def _(h: Varied) -> str:
    """two versions stand in the log the wrong way round"""
    order_id = order_of(h, "cancelled_early", "cancelled_declined")
    one, other = (first_copy(h, event_of(h, order_id, kind)) for kind in ("OrderPlaced", "OrderCancelled"))
    swap(one, other, "topic", "partition", "offset")
    follow_the_log(h)
    return order_id


def without_a_version(h: Varied) -> Row:
    """Let a scenario put a message into the log that names an order and no version; its groups set it aside."""
    copy = h.publish(event_of(h, any_order(h)))
    copy.update(event_id="spoiled", type=None, aggregate_version=None)
    for group in ("billing", "analytics"):
        place = {name: copy[name] for name in ("topic", "partition", "offset")}
        row = {"consumer": group, "event_id": "spoiled", "state": "parked", **place}
        h.rows.setdefault(f"db/{group}/inbox_parked", []).append(row)
    place_of = f"{copy['topic']}/{copy['partition']}@{copy['offset']}"
    h.run["expect"]["poisoned"] = [*h.run["expect"].get("poisoned", ()), place_of]
    return copy


@corruption("S09", "S10")
def _(h: Varied) -> str:
    """two versions stand in the log the wrong way round, behind a message that tells no version"""
    without_a_version(h)
    order_id = h.order("cancelled_early", 1_500, burst=True)
    one, other = (first_copy(h, event_of(h, order_id, kind)) for kind in ("OrderPlaced", "OrderCancelled"))
    swap(one, other, "topic", "partition", "offset")
    h.finish_again()
    follow_the_log(h)
    return order_id


@corruption("S09", "S06", "S10")
def _(h: Varied) -> str:
    """two events of one order bear the same version"""
    order_id = invoiced(h)
    h.publish({**event_of(h, order_id, "OrderConfirmed"), "event_id": h.new_id()})
    h.finish_again()
    return order_id
