"""Messages that nobody can apply are written into a topic, past every outbox, as a mistaken producer would.

Each has the key of an order that is alive, so that what comes of that order later has to wait behind it, where that is
the policy. What it says of itself is an order that does not exist.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from types import MappingProxyType
from typing import Any, Final
from uuid import uuid4

from confluent_kafka import Message, Producer

from chaos.faults import Quiet
from chaos.history import FaultPhase
from chaos.stage import Stage
from shared.kafka import producer_config

WITHIN_SECONDS: Final = 30.0

_LIVING: Final = "SELECT order_id::text FROM orders ORDER BY placed_at DESC LIMIT %s"
_IN_LOT: Final = "SELECT count(*) FROM inbox_parked WHERE state = 'parked'"

Headers = dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Spoiled:
    """What is wrong with a message: headers that are other than they should be or missing, or another value."""

    headers: Mapping[str, bytes | None]
    value: bytes | None = b"{}"


KINDS: Final[Mapping[str, Spoiled]] = MappingProxyType(
    {
        "broken bytes": Spoiled({}, b"\x00\xff{"),
        "an unknown type": Spoiled({"ce_type": b"OrderEaten"}),
        "a schema from the future": Spoiled({"ce_dataschema": b"urn:effectively-once:OrderPlaced:99"}),
        "a missing header": Spoiled({"ce_aggregateversion": None}),
        "a value of null": Spoiled({}, None),
        "900 kB": Spoiled({}, b"[" + b"7," * 450_000 + b"7]"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Poison(Quiet):
    """Messages of every kind that nobody can apply, with the keys of orders that are alive."""

    topic: str
    databases: tuple[str, ...]
    """Where they have to turn up in the consumers' parking lots."""
    of_each: int = 2
    patience_seconds: float = 30.0

    def inject(self, stage: Stage) -> None:
        before = {database: self._parked(stage, database) for database in self.databases}
        spoiled = list(KINDS.items()) * self.of_each
        for (kind, message), order_id in zip(spoiled, self._living(stage, len(spoiled)), strict=False):
            spot = self._publish(stage, message, order_id)
            stage.poisoned.extend((spot, order_id))
            stage.record(self.name, FaultPhase.INJECT, spot, detail=f"{kind}, with the key of order {order_id}")
        for database, known in before.items():
            if stage.wait_until(partial(self._are_parked, stage, database, known), self.patience_seconds):
                parked = self._parked(stage, database)
                stage.record(self.name, FaultPhase.HIT, database, detail=f"{parked} messages are parked")

    def _living(self, stage: Stage, most: int) -> list[str]:
        with stage.database("orders") as connection:
            return [row[0] for row in connection.execute(_LIVING, [most])]

    def _are_parked(self, stage: Stage, database: str, known: int) -> bool:
        return self._parked(stage, database) >= known + self.of_each * len(KINDS)

    def _publish(self, stage: Stage, spoiled: Spoiled, order_id: str) -> str:
        """Write one message and return its place in the log."""
        placed: list[str] = []

        def reported(error: object, message: Message) -> None:
            if error is None:
                placed.append(f"{self.topic}/{message.partition()}@{message.offset()}")

        producer = Producer(_producer(stage.stack.servers.kafka, self.name))
        headers: list[tuple[str, str | bytes | None]] = [
            (name, value) for name, value in {**_sound(), **spoiled.headers}.items() if value is not None
        ]
        producer.produce(
            stage.in_namespace(self.topic), spoiled.value, order_id.encode(), headers=headers, on_delivery=reported
        )
        producer.flush(WITHIN_SECONDS)
        if not placed:
            raise RuntimeError(f"the broker has not taken a message for {self.topic} within {WITHIN_SECONDS:g} s")
        return placed[0]

    def _parked(self, stage: Stage, database: str) -> int:
        with stage.database(database) as connection:
            row = connection.execute(_IN_LOT).fetchone()
            return int(row[0]) if row else 0

    def heal(self, stage: Stage) -> None:
        stage.record(self.name, FaultPhase.HEAL, self.topic, detail="what was parked stays parked")


def _producer(kafka: str, name: str) -> dict[str, Any]:
    """Partition as the system's own producers do; one message at a time needs no more."""
    return {
        **producer_config(kafka, name),
        "enable.gapless.guarantee": False,
        "message.max.bytes": 4_000_000,
        # The client warns of that setting in every producer, and there is one for each message.
        "log_level": 3,
    }


def _sound() -> Headers:
    """Return the headers that a sound event of an order that nobody placed would have."""
    return {
        "ce_specversion": b"1.0",
        "ce_type": b"OrderPlaced",
        "ce_source": b"/orders",
        "ce_dataschema": b"urn:effectively-once:OrderPlaced:1",
        "ce_aggregatetype": b"order",
        "content-type": b"application/json",
        "ce_id": str(uuid4()).encode(),
        "ce_subject": str(uuid4()).encode(),
        "ce_time": datetime.now(UTC).isoformat().encode(),
        "ce_aggregateversion": b"1",
    }
