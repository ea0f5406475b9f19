"""A shop's till: orders at a steady pace into a topic, some of which can never be billed.

Whoever measures with it asks afterwards which events were healthy, and how many were not.
"""

import random
import time
from dataclasses import dataclass, field
from typing import Final
from uuid import uuid4

from confluent_kafka import KafkaError, Message, Producer

from shared import outbox
from shared.clock import utc_now
from shared.envelope import Envelope, to_headers
from shared.events import OrderLine, OrderPlaced
from shared.kafka import producer_config

KINDS: Final = ("bytes", "type", "again")
"""``again`` is an order that is billed already, by an event of its own: only the database knows, and it has to be
found among its neighbours."""
FLUSH_SECONDS: Final = 20.0


@dataclass(slots=True)
class Till:
    kafka: str
    topic: str
    per_second: float
    share_poisoned: float
    healthy: set[str] = field(default_factory=set)
    """By event id."""
    poisoned: int = 0
    _rng: random.Random = field(default_factory=lambda: random.Random(7))  # noqa: S311  # no secret
    _producer: Producer = field(init=False)
    _last: OrderPlaced = field(init=False)

    def __post_init__(self) -> None:
        # Each event by itself, as a relay sends it that has one.
        self._producer = Producer({**producer_config(self.kafka, "till"), "linger.ms": 0, "log_level": 3})

    def sell(self, count: int) -> None:
        """Sell so many at once, all of them healthy."""
        for _ in range(count):
            self._sell("")
        self._producer.flush(FLUSH_SECONDS)

    def sell_for(self, seconds: float) -> None:
        """Sell at the till's pace. Raises RuntimeError if the broker does not take all of it."""
        begun = time.monotonic()
        for number in range(round(seconds * self.per_second)):
            while (early := begun + number / self.per_second - time.monotonic()) > 0:
                self._producer.poll(early)
            self._sell(self._rng.choice(KINDS) if self._rng.random() < self.share_poisoned else "")
        if self._producer.flush(FLUSH_SECONDS):
            raise RuntimeError(f"the broker has not taken everything within {FLUSH_SECONDS:.0f} s")

    def _sell(self, poison: str) -> None:
        order = self._last if poison == "again" else an_order()
        event = outbox.new_event("order", order.order_id, 1, order, source="/bench")
        kind = "OrderEaten" if poison == "type" else event.type
        headers = to_headers(
            Envelope(event.event_id, kind, event.source, "order", order.order_id, 1, event.dataschema, b"", utc_now())
        )
        value = b"{broken" if poison == "bytes" else event.payload
        self._producer.produce(self.topic, value, order.order_id, headers=dict(headers), on_delivery=_taken)
        self._producer.poll(0)
        if poison:
            self.poisoned += 1
        else:
            self.healthy.add(str(event.event_id))
            self._last = order


def an_order() -> OrderPlaced:
    return OrderPlaced(
        order_id=str(uuid4()),
        customer_id="customer-1",
        email="customer-1@example.com",
        currency="EUR",
        amount_minor=500,
        lines=(OrderLine(sku="tea", quantity=1, unit_price_minor=500),),
        placed_at=utc_now().isoformat(),
    )


def _taken(error: KafkaError | None, _message: Message) -> None:
    assert error is None, error
