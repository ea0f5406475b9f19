"""Good histories of every shape by the dice: the same seed gives the same one, another seed another.

Each has at least one of everything that a rule looks at, so that every corruption finds something to spoil; how many,
in which order, with which amounts, copies, replays, members and parked entries is up to the dice.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from itertools import groupby

from chaos.specimens.history import History
from chaos.specimens.log import DATABASES
from chaos.specimens.rows import GROUPS, Row

SHAPES = ("invoiced", "declined", "cancelled", "cancelled_early", "cancelled_declined")
CURRENCIES = ("EUR", "USD", "JPY", "KWD")
EXPECT = {
    "duplicates": ["log", "deliveries"], "suppressed": True, "owner_change": ["billing"], "pending_pairs": 1,
    "overlap": True, "progress": True, "recovery_seconds": 30, "fencing": True, "longest_wait_seconds": 60,
    "operations": ["place", "cancel", "invoiced", "declined", "cancelled", "replayed"],
}  # fmt: skip


class Varied(History):
    """A history of one seed. `plain`: by shape, the orders to which nothing unusual happened."""

    def __init__(self, seed: int) -> None:
        super().__init__(**EXPECT)
        self.dice = random.Random(seed)  # noqa: S311 - a plan, not a secret
        self.plain: dict[str, list[str]] = defaultdict(list)
        for step in self._plan():
            step()
            if self.dice.random() < 0.3:
                self._publish_again()
        self._take_over()
        self.finish_again()

    def finish_again(self) -> None:
        """Fill in what is known at the end only, after something more has happened."""
        self.finish()
        self._pass_partitions_on()

    def _plan(self) -> list[Callable[[], None]]:
        """Return what happens, in the order in which it does."""
        dice, steps = self.dice, [self._order(shape) for shape in SHAPES for _twice in range(2)]
        steps += [self._order(dice.choice(SHAPES)) for _more in range(dice.randint(0, 6))]
        steps += [self._repeated, self._answer_lost, self._never_arrived, self._refused, self._cancelled_perhaps]
        unusual = [self.park_at_the_relay, self.set_unreadable_aside, self._replay, self._rewritten_intent]
        steps += dice.sample(unusual, dice.randint(0, len(unusual)))
        dice.shuffle(steps)
        # The fault comes while there is more to do, and what it did to its order is seen after it.
        steps.insert(dice.randint(4, len(steps) - 2), self._strike)
        return [self._order("invoiced"), *steps, self._order("invoiced")]

    def _order(self, shape: str) -> Callable[[], None]:
        def step() -> None:
            self.plain[shape].append(self._any_order(shape))

        return step

    def _any_order(self, shape: str) -> str:
        amount = self.dice.randint(1_000_001, 9_000_000) if "declined" in shape else self.dice.randint(1, 999_999)
        early = shape in ("cancelled_early", "cancelled_declined")
        return self.order(shape, amount, self.dice.choice(CURRENCIES), burst=early or self.dice.random() < 0.3)

    # What a client may go through.

    def _repeated(self) -> None:
        first = self.the("intents", order_id=self._any_order("invoiced"))
        self.rows["intents"].append({**first, "n": self._next_attempt(), "replayed": True})

    def _answer_lost(self) -> None:
        self.the("intents", order_id=self._any_order(self.dice.choice(SHAPES[:2]))).update(result="info", order_id=None)

    def _never_arrived(self) -> None:
        self.attempt(None, result="info", ref=f"never-arrived-{self._attempts}")

    def _refused(self) -> None:
        self.attempt(None, result="fail", ref=f"refused-{self._attempts}")

    def _cancelled_perhaps(self) -> None:
        order_id = self._any_order(self.dice.choice(SHAPES[:2]))
        self.attempt(order_id, op="cancel", result=self.dice.choice(("info", "fail")), expect="cancelled")

    def _rewritten_intent(self) -> None:
        """Write `info` before the request and the answer afterwards, under one number."""
        answered = self.the("intents", order_id=self._any_order("invoiced"))
        before = {**answered, "result": "info", "order_id": None, "status": None}
        self.rows["intents"].insert(self.rows["intents"].index(answered), before)

    def _next_attempt(self) -> int:
        self._attempts += 1
        return self._attempts

    # What may happen in between.

    def _publish_again(self) -> None:
        events = [row for row in self.rows["db/orders/outbox"] if self._is_in_log(row)]
        if events:
            self.publish(self.dice.choice(events))

    def _is_in_log(self, event: Row) -> bool:
        return any(True for _copy in self.all("log", event_id=event["event_id"]))

    def _replay(self) -> None:
        self.replay(self.dice.choice([*GROUPS]), generation=2)

    def park_at_the_relay(self) -> None:
        """Let the relay give up on an event that the scenario spoiled; its order gets no further."""
        spoiled = self.new_id()
        self.attempt(spoiled)
        self.accept(spoiled, 1999, "EUR")
        event = self.emit("order", spoiled, "OrderPlaced", publish=False, amount=1999, currency="EUR")
        self.rows["db/orders/outbox_parked"].append(
            {"outbox_id": event["id"], "state": "parked", "attempts": 3, "last_error": "too large"}
        )
        self.run["expect"].setdefault("poisoned", []).append(event["event_id"])
        self.untold.add(spoiled)

    def set_unreadable_aside(self) -> None:
        """Let every group set aside a message that nobody can read."""
        copy = self.publish(self.dice.choice([row for row in self.rows["db/orders/outbox"] if self._is_in_log(row)]))
        copy.update(event_id=None, type=None, aggregate_type=None, aggregate_id=None, aggregate_version=None)
        place = {name: copy[name] for name in ("topic", "partition", "offset")}
        for group in ("billing", "analytics"):
            self.rows.setdefault(f"db/{group}/inbox_parked", []).append(
                {"consumer": group, "event_id": None, "state": "parked", **place}
            )
        self.poison_unreadable()

    def _strike(self) -> None:
        """Strike between an order and its invoice, and publish a copy of what was under way."""
        self.fault("relay-killed-after-publish", hits=self.dice.randint(1, 3))
        invoice = self.the("db/billing/invoice", order_id=self._any_order("invoiced"))
        for mark in self.all("faults", phase="hit"):
            mark["at"] = invoice["applied_at"]
        for mark in [*self.all("faults", phase="heal"), *self.all("faults", phase="probe")]:
            mark["at"] = self.tick()
        self.publish(self.the("db/orders/outbox", event_id=invoice["event_id"]))

    def _take_over(self) -> None:
        """Give some copies to another member of billing: duplicates, and a partition that changed hands."""
        copies = [*self.all("log", topic="orders.events", type="OrderPlaced")]
        for copy in self.dice.sample(copies, min(3, len(copies))):
            self.deliver("billing", copy, instance="billing-2", generation=4)

    def _pass_partitions_on(self) -> None:
        """Let the members of each partition change now and then, in the order of their generations."""
        for database in DATABASES.values():
            rows = sorted(self.rows[f"db/{database}/inbox"], key=_partition)
            for _place, of_partition in groupby(rows, key=_partition):
                generation = self.dice.randint(1, 3)
                for row in sorted(of_partition, key=lambda r: str(r["applied_at"])):
                    generation += self.dice.random() < 0.1
                    row.update(generation=generation, member=f"member-{database}-{generation % 2}")


def _partition(row: Row) -> tuple[str, str, int]:
    return row["consumer"], row["topic"], row["partition"]
