"""A history of orders: each given order runs its whole way, and leaves what a faultless system would leave."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from chaos.specimens.log import Log
from chaos.specimens.rows import GROUPS, PARTITIONS, Row

LINES: list[Row] = [
    {"sku": "coffee-1kg", "quantity": 1, "unit_price_minor": 999},
    {"sku": "mug", "quantity": 2, "unit_price_minor": 500},
]


class History(Log):
    """Good unless a test spoils it. ``finish()`` fills in what is known at the end only."""

    def __init__(self, **expect: Any) -> None:
        super().__init__(**expect)
        self._states: Counter[str] = Counter()
        self._days: Counter[tuple[str, str, str]] = Counter()
        self._placed: dict[str, tuple[str, str]] = {}
        """Order → day and currency."""
        self._attempts = 0
        self.untold: set[str] = set()
        """Orders of which the log says nothing: no read model knows them."""

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
        self.accept(order_id, amount, currency)
        placed_at = self.tick()
        placed = self.emit(
            "order", order_id, "OrderPlaced", publish=not burst, amount=amount, currency=currency, lines=LINES,
            placed_at=placed_at,
        )  # fmt: skip
        self._placed[order_id] = placed_at[:10], currency
        self._count_lines(currency)
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
        self._attempts += 1
        row = {
            "n": self._attempts, "op": op, "key": key,
            "customer_id": "customer-1", "order_ref": f"ref-{ref}", "order_id": order_id,
            "currency": fields.pop("currency", "EUR"), "amount_minor": fields.pop("amount", 1999),
            "expect": fields.pop("expect", "invoiced"), "started_at": self.tick(), "ended_at": self.tick(),
            "result": result, "status": 201, "replayed": fields.pop("replayed", False),
        }  # fmt: skip
        assert not fields, fields
        self.rows["intents"].append(row)
        return row

    def accept(self, order_id: str, amount: int, currency: str) -> None:
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
        number, sequence = self.draw("INV")
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
            currency=currency, lines=LINES,
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
        number, sequence = self.draw("CRN")
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

    def draw(self, series: str) -> tuple[str, int]:
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

    def _count_lines(self, currency: str) -> None:
        rows = self.rows["db/analytics/ordered_skus"]
        for line in LINES:
            row = next((r for r in rows if (r["currency"], r["sku"]) == (currency, line["sku"])), None)
            if row is None:
                row = {"currency": currency, "sku": line["sku"], "orders": 0, "quantity": 0, "amount_minor": 0}
                rows.append(row)
            row["orders"] += 1
            row["quantity"] += line["quantity"]
            row["amount_minor"] += line["quantity"] * line["unit_price_minor"]

    def fault(self, name: str, hits: int = 1) -> None:
        for phase in ("inject", *["hit"] * hits, "heal", "probe"):
            self.rows["faults"].append(
                {"fault": name, "act": "1", "phase": phase, "at": self.tick(), "target": "relay-orders-1",
                 "pid": 1, "failpoint": None, "detail": None}
            )  # fmt: skip

    def finish(self) -> History:
        """Fill in what is known at the end only: counts by state, relay positions, offsets."""
        self._read_models()
        for database in ("orders", "billing"):
            self._positions(database)
        self.offsets = {
            group: {topic: {str(p): self._mark(topic, p) for p in range(PARTITIONS)} for topic in topics}
            for group, topics in GROUPS.items()
        }
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
        end = self.ends[topic, partition]
        return {"committed": end or None, "low": 0, "end": end}

    def _read_models(self) -> None:
        self.rows["db/analytics/order_state"] = [
            {"order_id": order["order_id"], "state": order["state"], "version": order["version"]}
            for order in self.rows["db/orders/orders"]
        ]
        states = self._states + self._told()
        self.rows["db/analytics/orders_by_state"] = [{"state": s, "orders": n} for s, n in states.items()]
        days = self._days + self._standing()
        self.rows["db/analytics/orders_by_day"] = [
            {"day": day, "currency": currency, "state": state, "orders": n}
            for (day, currency, state), n in days.items()
        ]

    def _standing(self) -> Counter[tuple[str, str, str]]:
        orders = self.rows["db/orders/orders"]
        told = self._placed.keys() - self.untold
        return Counter((*self._placed[o["order_id"]], o["state"]) for o in orders if o["order_id"] in told)

    def _told(self) -> Counter[str]:
        orders = self.rows["db/orders/orders"]
        return Counter(order["state"] for order in orders if order["order_id"] not in self.untold)

    def flush(self, directory: Path) -> None:
        """Count what is forgotten; see `Rows.flush`."""
        self.finish()
        self._states += self._told()
        self._days += self._standing()
        self._placed.clear()
        super().flush(directory)
