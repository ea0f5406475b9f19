"""Outboxes, the log, and the groups that read it: how an event gets from a transaction to every inbox."""

from __future__ import annotations

import json
from collections import defaultdict
from hashlib import sha256
from pathlib import Path
from typing import Any

from chaos.specimens.rows import GROUPS, PARTITIONS, Row, Rows, lane_of

INSTANCES = {"billing": "billing-1", "analytics": "analytics-1", "orders": "orders-consumer-1"}
DATABASES = {"billing": "billing", "analytics": "analytics", "orders": "orders"}
TOPICS = {"order": "orders.events", "bill": "billing.events"}
SAID = ("event_id", "type", "aggregate_type", "aggregate_id", "aggregate_version", "payload")


class Log(Rows):
    """Rows in which events travel. A group applies an event once and calls every other time a duplicate."""

    def __init__(self, **expect: Any) -> None:
        super().__init__(**expect)
        self._xids = {"orders": 100, "billing": 500}
        self._outbox_ids = {"orders": 0, "billing": 0}
        self._versions: dict[tuple[str, str], int] = defaultdict(int)
        self._applied: set[tuple[str, str]] = set()

    def emit(self, aggregate_type: str, aggregate_id: str, kind: str, *, publish: bool = True,
             destination: str = "event", **said: Any) -> Row:  # fmt: skip
        """Write an event into its outbox, and unless told otherwise let it reach the log and every group."""
        database = "orders" if aggregate_type == "order" else "billing"
        payload = {"order_id": aggregate_id, **said}
        if "amount" in payload:
            payload["amount_minor"] = payload.pop("amount")
        self._xids[database] += 1
        self._outbox_ids[database] += 1
        self._versions[aggregate_type, aggregate_id] += 1
        row = {
            "xid": str(self._xids[database]), "id": self._outbox_ids[database], "event_id": self.new_id(),
            "aggregate_type": aggregate_type, "aggregate_id": aggregate_id,
            "aggregate_version": self._versions[aggregate_type, aggregate_id], "lane": lane_of(aggregate_id),
            "destination": destination, "type": kind, "source": f"/{database}", "dataschema": f"urn:test:{kind}:1",
            "payload": json.dumps(payload), "traceparent": None, "occurred_at": self.tick(),
        }  # fmt: skip
        self.rows[f"db/{database}/outbox"].append(row)
        if destination == "event" and publish:
            self.publish(row)
        return row

    def publish_pending(self) -> None:
        """Publish what stands in the outboxes, is not yet in the log, and was not parked."""
        known = {copy["event_id"] for copy in self.rows["log"]}
        for database in ("orders", "billing"):
            parked = {row["outbox_id"] for row in self.rows[f"db/{database}/outbox_parked"]}
            for row in self.rows[f"db/{database}/outbox"]:
                if row["destination"] == "event" and row["event_id"] not in known and row["id"] not in parked:
                    self.publish(row)

    def publish(self, event: Row, partition: int | None = None, generation: int = 1) -> Row:
        """Append a copy of an event to the log and deliver it to every group."""
        topic = TOPICS[event["aggregate_type"]]
        if partition is None:
            partition = sum(event["aggregate_id"].encode()) % PARTITIONS
        offset = self.ends[topic, partition]
        self.ends[topic, partition] += 1
        copy = {
            "topic": topic, "partition": partition, "offset": offset, "key": event["aggregate_id"],
            **{name: event[name] for name in SAID},
            "sha256": sha256(event["payload"].encode()).hexdigest(), "timestamp": self.tick(),
            "archived_at": self.tick(), "headers": {"ce_id": event["event_id"], "ce_type": event["type"]},
        }  # fmt: skip
        self.rows["log"].append(copy)
        for group, topics in GROUPS.items():
            if topic in topics:
                self.deliver(group, copy, generation=generation)
        return copy

    def deliver(self, group: str, copy: Row, instance: str | None = None, generation: int = 1) -> None:
        """Hand a copy to a group."""
        instance = instance or INSTANCES[group]
        duplicate = (group, copy["event_id"]) in self._applied
        place = {name: copy[name] for name in ("topic", "partition", "offset")}
        if not duplicate:
            self._applied.add((group, copy["event_id"]))
            self.rows[f"db/{DATABASES[group]}/inbox"].append(
                {"consumer": group, "event_id": copy["event_id"], **place, "member": f"member-{instance}",
                 "generation": generation, "aggregate_id": copy["aggregate_id"],
                 "aggregate_version": copy["aggregate_version"], "applied_at": self.tick()}
            )  # fmt: skip
        self.rows["deliveries"].append(
            {"group": group, **place, "instance": instance, "member": f"member-{instance}", "generation": generation,
             "at": self.tick(), "duplicate": duplicate}
        )  # fmt: skip

    def replay(self, group: str, instance: str | None = None, generation: int = 2) -> None:
        """Give a group every copy of its topics again, from the start; what nobody can read has no delivery."""
        for copy in self.rows["log"]:
            if copy["topic"] in GROUPS[group] and copy["event_id"] is not None:
                self.deliver(group, copy, instance, generation)

    def unpublish(self, event_id: str) -> None:
        """Take every trace of an event out of the log and of what followed, as if it had never been published."""
        gone = [copy for copy in self.rows["log"] if copy["event_id"] == event_id]
        self.drop("log", event_id=event_id)
        for copy in reversed(gone):
            self.close_gap(copy)
        for database in DATABASES.values():
            table = f"db/{database}/inbox"
            self.rows[table] = [r for r in self.rows[table] if r["event_id"] != event_id]

    def close_gap(self, copy: Row) -> None:
        """Move everything behind a copy that was taken out one offset down."""
        self.ends[copy["topic"], copy["partition"]] -= 1
        tables = ["log", "deliveries", *(f"db/{database}/inbox" for database in DATABASES.values())]
        tables += [f"db/{database}/inbox_parked" for database in DATABASES.values()]
        place = copy["topic"], copy["partition"], copy["offset"]
        self.rows["deliveries"] = [
            r for r in self.rows["deliveries"] if (r["topic"], r["partition"], r["offset"]) != place
        ]
        for table in tables:
            for row in self.rows.get(table, ()):
                if (row["topic"], row["partition"]) == place[:2] and row["offset"] > copy["offset"]:
                    row["offset"] -= 1
        self.poison_unreadable()

    def poison_unreadable(self) -> None:
        """Say of every message that nobody can read that the scenario put it there."""
        expect = self.run["expect"]
        named = [name for name in expect.get("poisoned", ()) if "@" not in name]
        places = [f"{c['topic']}/{c['partition']}@{c['offset']}" for c in self.all("log", event_id=None)]
        if named or places:
            expect["poisoned"] = named + places

    def flush(self, directory: Path) -> None:
        super().flush(directory)
        self._applied.clear()
        self._versions.clear()
