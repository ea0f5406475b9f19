"""Build the evidence of a run by hand: good unless a test spoils it.

`History` writes down what a faultless system would have left behind for each order it is given, as plain rows that a
test may then change before they are written to files. It shares no code with the checker.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from hashlib import md5, sha256
from pathlib import Path
from typing import Any
from uuid import UUID

Row = dict[str, Any]

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
PARTITIONS = 4
GROUPS = {
    "billing": ["orders.events"],
    "analytics": ["orders.events", "billing.events"],
    "orders": ["billing.events"],
}
INSTANCES = {"billing": "billing-1", "analytics": "analytics-1", "orders": "orders-consumer-1"}
DATABASES = {"billing": "billing", "analytics": "analytics", "orders": "orders"}
TOPICS = {"order": "orders.events", "bill": "billing.events"}
EMPTY_TABLES = (
    *(f"db/{d}/{t}" for d in ("orders", "billing") for t in ("outbox", "inbox", "outbox_parked", "relay_lane")),
    *(f"db/{d}/relay_position" for d in ("orders", "billing")),
    "db/orders/orders", "db/orders/idempotency_key",
    *(f"db/billing/{t}" for t in ("bill", "payment", "invoice", "credit_note", "number_series")),
    "db/analytics/inbox", "db/analytics/revenue", "db/analytics/orders_by_state", "db/notifications/sent_email",
    "intents", "log", "deliveries", "mail", "faults", "processes",
)  # fmt: skip


class History:
    """The files of one run: `rows["log"]` becomes log.jsonl, `rows["db/orders/orders"]` db/orders/orders.jsonl."""

    def __init__(self, **expect: Any) -> None:
        self.rows: dict[str, list[Row]] = {table: [] for table in EMPTY_TABLES}
        self.run: Row = {
            "run": "test-1", "scenario": "test", "seed": 7, "started_at": iso(START), "ended_at": None,
            "expect": expect, "groups": dict(GROUPS), "guard_off": None, "canaries": True,
        }  # fmt: skip
        self.offsets: dict[str, Any] = {}
        self.torn: dict[str, str] = {}
        self._now = START
        self._ids = 0
        self._xids = {"orders": 100, "billing": 500}
        self._ends: dict[tuple[str, int], int] = defaultdict(int)

    # What may happen to an order.

    def order(self, shape: str = "invoiced", amount: int = 1999, currency: str = "EUR", burst: bool = False) -> str:
        """Let an order of a shape run its whole way and return its id.

        Shapes: invoiced, declined, cancelled (confirmed first), cancelled_early (before billing answered),
        cancelled_declined (before billing would have declined it).
        """
        order_id = self.new_id()
        foretold = "declined" if "declined" in shape else "invoiced"
        self.attempt(order_id, amount=amount, currency=currency, expect=foretold)
        cancelled = shape.startswith("cancelled")
        if cancelled:
            self.attempt(order_id, op="cancel", amount=amount, currency=currency, expect="cancelled")
        self._accept(order_id, amount, currency)
        placed = self.emit("order", order_id, "OrderPlaced", publish=not burst, amount=amount, currency=currency)
        early = shape in ("cancelled_early", "cancelled_declined")
        if early:
            self._cancel(order_id, amount, currency, publish=not burst)
        if burst:
            self.publish_pending()
        self._bill(order_id, placed, amount, currency, declined=foretold == "declined")
        if not early:
            self._answer(order_id, amount, currency, declined=foretold == "declined")
        if shape == "cancelled":
            self._cancel(order_id, amount, currency)
        if cancelled and foretold == "invoiced":
            self._credit(order_id, amount, currency)
        return order_id

    def attempt(self, order_id: str | None, op: str = "place", result: str = "ok", **fields: Any) -> Row:
        """Write an intent; `ref` and `key` default to ones made from the order's id."""
        ref = fields.pop("ref", order_id)
        key = fields.pop("key", f"key-{ref}" if op == "place" else None)
        row = {
            "n": len(self.rows["intents"]) + 1, "op": op, "key": key,
            "customer_id": "customer-1", "order_ref": f"ref-{ref}", "order_id": order_id,
            "currency": fields.pop("currency", "EUR"), "amount_minor": fields.pop("amount", 1999),
            "expect": fields.pop("expect", "invoiced"), "started_at": self.tick(), "ended_at": self.tick(),
            "result": result, "status": 201, "replayed": fields.pop("replayed", False),
        }  # fmt: skip
        assert not fields, fields
        self.rows["intents"].append(row)
        return row

    def _accept(self, order_id: str, amount: int, currency: str) -> None:
        self.rows["db/orders/orders"].append(
            {"order_id": order_id, "customer_id": "customer-1", "email": "a@example.com", "currency": currency,
             "amount_minor": amount, "lines": [], "state": "placed", "version": 1, "invoice_number": None}
        )  # fmt: skip
        self.rows["db/orders/idempotency_key"].append(
            {"customer_id": "customer-1", "key": f"key-{order_id}", "order_id": order_id}
        )

    def _cancel(self, order_id: str, amount: int, currency: str, publish: bool = True) -> None:
        self.the("db/orders/orders", order_id=order_id).update(state="cancelled")
        self._advance(order_id)
        self.emit(
            "order", order_id, "OrderCancelled", publish=publish, reason="customer", amount=amount, currency=currency
        )

    def _bill(self, order_id: str, placed: Row, amount: int, currency: str, declined: bool) -> None:
        self.rows["db/billing/bill"].append(
            {"order_id": order_id, "state": "declined" if declined else "invoiced", "version": 1,
             "currency": currency, "amount_minor": amount}
        )  # fmt: skip
        self._pay(order_id, "declined" if declined else "authorised", amount, currency)
        if declined:
            self.emit("bill", order_id, "PaymentDeclined", reason="limit", amount=amount, currency=currency)
            return
        number, sequence = self._draw("INV")
        issued = self.tick()
        self.rows["db/billing/invoice"].append(
            {"number": number, "series": "INV", "year": 2026, "sequence": sequence, "order_id": order_id,
             "currency": currency, "amount_minor": amount, "event_id": placed["event_id"],
             "issued_at": issued, "applied_at": issued}
        )  # fmt: skip
        self.emit(
            "bill", order_id, "InvoiceIssued", invoice_number=number, amount=amount, currency=currency, issued_at=issued
        )
        self._count(issued, currency, invoices=1, amount_minor=amount)
        self._mail(order_id, number, amount, currency)

    def _pay(self, order_id: str, status: str, amount: int, currency: str) -> None:
        self.rows["db/billing/payment"].append(
            {"payment_id": self.new_id(), "order_id": order_id, "status": status, "currency": currency,
             "amount_minor": amount, "created_at": self.tick()}
        )  # fmt: skip

    def _mail(self, order_id: str, number: str, amount: int, currency: str) -> None:
        command = self.emit(
            "email", order_id, "SendInvoice", destination="command", invoice_number=number, amount=amount,
            currency=currency,
        )  # fmt: skip
        self.rows["mail"].append(
            {"at": self.tick(), "message_id": f"<{command['event_id']}@effectively-once.invalid>",
             "recipient": "a@example.com", "order_id": order_id, "invoice_number": number, "sha256": "0" * 64,
             "answered": True}
        )  # fmt: skip
        self.rows["db/notifications/sent_email"].append(
            {"event_id": command["event_id"], "order_id": order_id, "state": "sent", "attempts": 1}
        )

    def _answer(self, order_id: str, amount: int, currency: str, declined: bool) -> None:
        order = self.the("db/orders/orders", order_id=order_id)
        self._advance(order_id)
        if declined:
            order["state"] = "declined"
            self.emit("order", order_id, "OrderCancelled", reason="payment_declined", amount=amount, currency=currency)
            return
        order["state"] = "confirmed"
        order["invoice_number"] = self.the("db/billing/invoice", order_id=order_id)["number"]
        self.emit("order", order_id, "OrderConfirmed", invoice_number=order["invoice_number"])

    def _credit(self, order_id: str, amount: int, currency: str) -> None:
        number, sequence = self._draw("CRN")
        issued = self.tick()
        invoice = self.the("db/billing/invoice", order_id=order_id)["number"]
        self.rows["db/billing/credit_note"].append(
            {"number": number, "series": "CRN", "year": 2026, "sequence": sequence, "order_id": order_id,
             "invoice_number": invoice, "currency": currency, "amount_minor": amount, "issued_at": issued}
        )  # fmt: skip
        self.the("db/billing/bill", order_id=order_id).update(state="credited", version=2)
        self._pay(order_id, "refunded", amount, currency)
        self.emit(
            "bill", order_id, "CreditNoteIssued", credit_note_number=number, invoice_number=invoice, amount=amount,
            currency=currency, issued_at=issued,
        )  # fmt: skip
        self._count(issued, currency, credited_minor=amount)

    def _advance(self, order_id: str) -> None:
        self.the("db/orders/orders", order_id=order_id)["version"] += 1

    def _draw(self, series: str) -> tuple[str, int]:
        rows = self.rows["db/billing/number_series"]
        row = next((r for r in rows if r["series"] == series), None)
        if row is None:
            row = {"series": series, "year": 2026, "next_sequence": 1}
            rows.append(row)
        sequence = row["next_sequence"]
        row["next_sequence"] += 1
        return f"{series}-2026-{sequence:06d}", sequence

    def _count(self, issued: str, currency: str, **added: int) -> None:
        rows = self.rows["db/analytics/revenue"]
        row = next((r for r in rows if (r["day"], r["currency"]) == (issued[:10], currency)), None)
        if row is None:
            row = {"day": issued[:10], "currency": currency, "invoices": 0, "amount_minor": 0, "credited_minor": 0}
            rows.append(row)
        for name, value in added.items():
            row[name] += value

    # Outbox, log, groups.

    def emit(self, aggregate_type: str, aggregate_id: str, kind: str, *, publish: bool = True,
             destination: str = "event", **said: Any) -> Row:  # fmt: skip
        """Write an event into its outbox, and unless told otherwise let it reach the log and every group."""
        database = "orders" if aggregate_type == "order" else "billing"
        outbox = self.rows[f"db/{database}/outbox"]
        same = [r for r in outbox if (r["aggregate_type"], r["aggregate_id"]) == (aggregate_type, aggregate_id)]
        payload = {"order_id": aggregate_id, **said}
        if "amount" in payload:
            payload["amount_minor"] = payload.pop("amount")
        self._xids[database] += 1
        row = {
            "xid": str(self._xids[database]), "id": len(outbox) + 1, "event_id": self.new_id(),
            "aggregate_type": aggregate_type, "aggregate_id": aggregate_id, "aggregate_version": len(same) + 1,
            "lane": lane_of(aggregate_id), "destination": destination, "type": kind, "source": f"/{database}",
            "dataschema": f"urn:test:{kind}:1", "payload": json.dumps(payload), "traceparent": None,
            "occurred_at": self.tick(),
        }  # fmt: skip
        outbox.append(row)
        if destination == "event" and publish:
            self.publish(row)
        return row

    def publish_pending(self) -> None:
        """Publish what stands in the outboxes and not yet in the log."""
        known = {copy["event_id"] for copy in self.rows["log"]}
        for database in ("orders", "billing"):
            for row in self.rows[f"db/{database}/outbox"]:
                if row["destination"] == "event" and row["event_id"] not in known:
                    self.publish(row)

    def publish(self, event: Row, partition: int | None = None, generation: int = 1) -> Row:
        """Append a copy of an event to the log and deliver it to every group."""
        topic = TOPICS[event["aggregate_type"]]
        if partition is None:
            partition = sum(event["aggregate_id"].encode()) % PARTITIONS
        offset = self._ends[topic, partition]
        self._ends[topic, partition] += 1
        copy = {
            "topic": topic, "partition": partition, "offset": offset, "key": event["aggregate_id"],
            **{name: event[name] for name in (
                "event_id", "type", "aggregate_type", "aggregate_id", "aggregate_version", "payload")},
            "sha256": sha256(event["payload"].encode()).hexdigest(), "timestamp": self.tick(),
            "archived_at": self.tick(), "headers": {},
        }  # fmt: skip
        self.rows["log"].append(copy)
        for group, topics in GROUPS.items():
            if topic in topics:
                self.deliver(group, copy, generation=generation)
        return copy

    def deliver(self, group: str, copy: Row, instance: str | None = None, generation: int = 1) -> None:
        """Hand a copy to a group, which applies it once and calls every other time a duplicate."""
        instance = instance or INSTANCES[group]
        inbox = self.rows[f"db/{DATABASES[group]}/inbox"]
        duplicate = any(r["consumer"] == group and r["event_id"] == copy["event_id"] for r in inbox)
        place = {name: copy[name] for name in ("topic", "partition", "offset")}
        if not duplicate:
            inbox.append(
                {"consumer": group, "event_id": copy["event_id"], **place, "member": f"member-{instance}",
                 "generation": generation, "aggregate_id": copy["aggregate_id"],
                 "aggregate_version": copy["aggregate_version"], "applied_at": self.tick()}
            )  # fmt: skip
        self.rows["deliveries"].append(
            {"group": group, **place, "instance": instance, "member": f"member-{instance}", "generation": generation,
             "at": self.tick(), "duplicate": duplicate}
        )  # fmt: skip

    def replay(self, group: str, instance: str | None = None, generation: int = 2) -> None:
        """Give a group every copy of its topics again, from the start."""
        for copy in self.rows["log"]:
            if copy["topic"] in GROUPS[group]:
                self.deliver(group, copy, instance, generation)

    def fault(self, name: str, hits: int = 1) -> None:
        for phase in ("inject", *["hit"] * hits, "heal", "probe"):
            self.rows["faults"].append(
                {"fault": name, "act": "1", "phase": phase, "at": self.tick(), "target": "relay-orders-1",
                 "pid": 1, "failpoint": None, "detail": None}
            )  # fmt: skip

    # Looking up and spoiling.

    def the(self, table: str, **wanted: Any) -> Row:
        """Return the one row (the first one) that has these values."""
        return next(self.all(table, **wanted))

    def all(self, table: str, **wanted: Any) -> Iterator[Row]:
        return (row for row in self.rows[table] if all(row[name] == value for name, value in wanted.items()))

    def drop(self, table: str, **wanted: Any) -> None:
        """Remove the rows that have these values; a test that removes nothing is a mistake."""
        before = len(self.rows[table])
        self.rows[table] = [r for r in self.rows[table] if any(r[name] != value for name, value in wanted.items())]
        assert len(self.rows[table]) < before, f"no row of {table} has {wanted}"

    def unpublish(self, event_id: str) -> None:
        """Take every trace of an event out of the log and of what followed, as if it had never been published."""
        gone = [copy for copy in self.rows["log"] if copy["event_id"] == event_id]
        self.drop("log", event_id=event_id)
        for copy in gone:
            self._close_gap(copy)
        for database in DATABASES.values():
            table = f"db/{database}/inbox"
            self.rows[table] = [r for r in self.rows[table] if r["event_id"] != event_id]

    def _close_gap(self, copy: Row) -> None:
        self._ends[copy["topic"], copy["partition"]] -= 1
        tables = ["log", "deliveries", *(f"db/{database}/inbox" for database in DATABASES.values())]
        place = copy["topic"], copy["partition"], copy["offset"]
        self.rows["deliveries"] = [
            r for r in self.rows["deliveries"] if (r["topic"], r["partition"], r["offset"]) != place
        ]
        for table in tables:
            for row in self.rows[table]:
                if (row["topic"], row["partition"]) == place[:2] and row["offset"] > copy["offset"]:
                    row["offset"] -= 1

    def new_id(self) -> str:
        self._ids += 1
        return str(UUID(int=0x0190_0000_0000_7000_8000_0000_0000_0000 + self._ids))

    def tick(self) -> str:
        self._now += timedelta(milliseconds=3)
        return iso(self._now)

    # Writing.

    def finish(self) -> History:
        """Fill in what is known at the end only: counts by state, relay positions, offsets."""
        states: dict[str, int] = defaultdict(int)
        for order in self.rows["db/orders/orders"]:
            states[order["state"]] += 1
        self.rows["db/analytics/orders_by_state"] = [{"state": s, "orders": n} for s, n in states.items()]
        for database in ("orders", "billing"):
            self._positions(database)
        self.offsets = {
            group: {topic: {str(p): self._mark(topic, p) for p in range(PARTITIONS)} for topic in topics}
            for group, topics in GROUPS.items()
        }
        self._finished = True
        return self

    def _positions(self, database: str) -> None:
        done = f"{self._xids[database] + 1}:{self._xids[database] + 1}:"
        self.rows[f"db/{database}/relay_position"] = [
            {"position_id": n, "destination": d, "done": done, "floor_id": 0, "target": None, "target_floor": None,
             "after_id": 0}
            for n, d in enumerate(("event", "command"), 1)
        ]  # fmt: skip
        self.rows[f"db/{database}/relay_lane"] = [
            {"destination": d, "lane": lane, "position_id": n}
            for n, d in enumerate(("event", "command"), 1)
            for lane in range(16)
        ]

    def _mark(self, topic: str, partition: int) -> Row:
        end = self._ends[topic, partition]
        return {"committed": end or None, "low": 0, "end": end}

    def write(self, directory: Path) -> Path:
        """Write every file; a table set to None is left out."""
        for table, rows in self.rows.items():
            path = directory / f"{table}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            text = "".join(json.dumps(row) + "\n" for row in rows)
            path.write_text(text + self.torn.get(table, ""))
        (directory / "run.json").write_text(json.dumps(self.run))
        (directory / "offsets.json").write_text(json.dumps(self.offsets))
        return directory


def iso(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds")


def lane_of(aggregate_id: str) -> int:
    return md5(aggregate_id.encode(), usedforsecurity=False).digest()[0] % 16


def every_shape(**expect: Any) -> History:
    """A good history in which everything normal happens: all shapes, lost answers, copies, replays, a crash window."""
    history = History(
        **{
            "duplicates": ["log", "deliveries"], "suppressed": True, "owner_change": ["billing"], "pending_pairs": 1,
            "overlap": True, "operations": ["place", "cancel", "invoiced", "declined", "cancelled", "replayed"],
            **expect,
        }
    )  # fmt: skip
    for currency, amount in (("EUR", 1999), ("JPY", 1200), ("KWD", 12345), ("EUR", 501)):
        history.order("invoiced", amount, currency)
        history.order("cancelled", amount, currency)
        history.order("cancelled_early", amount, currency, burst=True)
    history.order("declined", 1_000_001)
    history.order("cancelled_declined", 1_000_001, burst=True)
    _unclear_answers(history)
    _crash_windows(history)
    return history.finish()


def _unclear_answers(history: History) -> None:
    repeated = history.order("invoiced", 700)
    history.attempt(repeated, amount=700, replayed=True)
    lost = history.order("invoiced", 800)
    history.the("intents", order_id=lost).update(result="info", order_id=None)
    history.attempt(None, result="info", ref="never-arrived")
    history.attempt(None, result="fail", ref="refused")
    late = history.order("invoiced", 900)
    history.attempt(late, op="cancel", result="info", amount=900, expect="cancelled")
    history.attempt(history.order("declined", 2_000_000), op="cancel", result="fail", expect="cancelled")
    torn = history.order("invoiced", 950)
    history.rows["intents"].append({**history.the("intents", order_id=torn), "result": "ok"})
    history.rows["intents"].insert(0, {**history.the("intents", order_id=torn), "result": "info", "order_id": None})


def _crash_windows(history: History) -> None:
    history.fault("relay-killed-after-publish")
    event = history.rows["db/orders/outbox"][0]
    history.publish(event)
    history.publish(event, generation=2)
    first = history.rows["log"][0]
    history.deliver("billing", first, instance="billing-2", generation=3)
    history.replay("billing", instance="billing-2", generation=4)
    copy = dict(history.rows["mail"][0], answered=False)
    history.rows["mail"].append(copy)
    invoice = history.rows["db/billing/invoice"][0]
    history.rows["faults"].append(
        {"fault": "relay-killed-after-publish", "act": "1", "phase": "hit", "at": invoice["applied_at"],
         "target": "relay-orders-1", "pid": 1, "failpoint": "relay.after_publish_before_settle", "detail": None}
    )  # fmt: skip


Spoil = Callable[[History], None]
