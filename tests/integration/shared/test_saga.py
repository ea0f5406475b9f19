"""The saga over the real databases of orders and billing: every way that the events of two aggregates can interleave.

The real use cases run. What connects the two databases is played here: two logs, read in batches of any size, with
everything delivered again as often as one likes. After every way the rows must be where the state machines say.
"""

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Engine, text

from services.billing import bill_orders
from services.billing.bill_states import BILL
from services.orders.cancel_order import cancel_order
from services.orders.errors import NotCancellableError
from services.orders.order_request import OrderRequest
from services.orders.order_states import CANCEL, ORDER, PLACE
from services.orders.place_order import place_order
from services.orders.settle_orders import settle_orders
from shared.database import create_engine, transaction
from shared.envelope import Envelope
from shared.events import OrderLine
from shared.inbox import DatabaseInbox, Delivery
from shared.state_machine import Machine, State
from tests.conftest import DatabaseFactory

SMALL, TOO_MUCH = 700, 1_000_001
TOLD = "SELECT * FROM outbox WHERE destination = 'event' ORDER BY id"
PAPERS: dict[State, list[tuple[int, int]]] = {
    "confirmed": [(1, 0)],
    "declined": [(0, 0)],
    "cancelled": [(0, 0), (1, 1)],
}
"""How many invoices and credit notes an order may come to, each of the order's amount."""

QUESTIONS = {
    (machine.aggregate, answer.state, answer.on)
    for machine in (ORDER, BILL)
    for answer in (*machine.transitions, *machine.stays)
}

keys = count()


@dataclass
class Side:
    """One service: its database, what it hears, and how far it has applied that."""

    name: str
    aggregate: str
    engine: Engine
    handler: Callable[[Any, Sequence[Delivery]], None]
    heard: list[Delivery] = field(default_factory=list)
    at: int = 0

    def ask(self, query: str, **parameters: Any) -> list[Any]:
        with self.engine.connect() as connection:
            return list(connection.execute(text(query), parameters))

    def hear(self, other: "Side") -> None:
        """Take over what the other has told since: its relay and the log."""
        for row in other.ask(f"{TOLD} OFFSET :known", known=len(self.heard)):
            event = Envelope(**{name: getattr(row, name) for name in Envelope.__slots__})
            self.heard.append(Delivery(event, f"{other.name}.events", 0, len(self.heard), "member", 1))

    def apply(self, events: int, again: int) -> list[Delivery]:
        """Apply so many pending events in one batch, behind as many old ones as ``again`` says; return the new ones."""
        first, end = max(0, self.at - again), self.at + events
        with transaction(self.engine) as connection:
            if fresh := DatabaseInbox(self.name).new(connection, self.heard[first:end]):
                self.handler(connection, fresh)
        new, self.at = self.heard[self.at : end], end
        return new

    @property
    def pending(self) -> int:
        return len(self.heard) - self.at


@dataclass
class World:
    """Orders on their way between the two services, and what both machines foretell of each."""

    orders: Side
    billing: Side
    amounts: dict[UUID, int] = field(default_factory=dict)
    states: dict[tuple[str, UUID], State] = field(default_factory=lambda: defaultdict(lambda: None))
    told: dict[tuple[str, UUID], list[str]] = field(default_factory=lambda: defaultdict(list))
    met: set[tuple[str, State, str]] = field(default_factory=set)
    """Every question that was put to a machine: aggregate, state, what came."""

    def place(self, amount_minor: int) -> UUID:
        line = OrderLine(sku="tea", quantity=1, unit_price_minor=amount_minor)
        request = OrderRequest(customer_id="c", email="ada@example.org", currency="EUR", lines=(line,))
        placed = place_order(
            self.orders.engine, request, key=f"key-{next(keys)}", body=b"{}", traceparent=None, wait_seconds=5
        )
        order_id = UUID(placed.receipt.order_id)
        self.amounts[order_id] = amount_minor
        self._foretell(ORDER, order_id, PLACE)
        self.billing.hear(self.orders)
        return order_id

    def cancel(self, order_id: UUID) -> None:
        if self._foretell(ORDER, order_id, CANCEL):
            cancel_order(self.orders.engine, order_id, traceparent=None, wait_seconds=5)
        else:
            with pytest.raises(NotCancellableError):
                cancel_order(self.orders.engine, order_id, traceparent=None, wait_seconds=5)
        self.billing.hear(self.orders)

    def bill(self, events: int = 1, again: int = 0) -> None:
        for delivery in self.billing.apply(events, again):
            self._foretell(BILL, UUID(delivery.aggregate_id), delivery.envelope.type)
        self.orders.hear(self.billing)

    def settle(self, events: int = 1, again: int = 0) -> None:
        for delivery in self.orders.apply(events, again):
            self._foretell(ORDER, UUID(delivery.aggregate_id), delivery.envelope.type)
        self.billing.hear(self.orders)

    def _foretell(self, machine: Machine, order_id: UUID, on: str) -> bool:
        """Move on what is expected, and say whether it moved. Fails where the machine has no answer."""
        life = (machine.aggregate, order_id)
        state, decided = self.states[life], "declined" if self.amounts[order_id] == TOO_MUCH else "authorised"
        self.met.add((machine.aggregate, state, on))
        transition = machine.step(state, on, decided if on == "OrderPlaced" else None)
        if transition is None:
            assert (state, on) in {(stay.state, stay.on) for stay in machine.stays}, "nobody has thought of that"
            return False
        self.states[life] = transition.to
        self.told[life] += [kind for kind in transition.tells if kind != "SendInvoice"]
        return True

    def judge(self) -> None:
        """Hold every row against what the machines foretold, and every order against what it may come to."""
        for side, table in ((self.orders, "orders"), (self.billing, "bill")):
            found = {(side.aggregate, row.order_id): row.state for row in side.ask(f"SELECT * FROM {table}")}
            assert found == {life: state for life, state in self.states.items() if life[0] == side.aggregate and state}
            told = defaultdict(list)
            for row in side.ask(TOLD):
                told[side.aggregate, UUID(row.aggregate_id)].append(row.type)
                assert row.aggregate_version == len(told[side.aggregate, UUID(row.aggregate_id)])
            assert told == {life: kinds for life, kinds in self.told.items() if life[0] == side.aggregate and kinds}
        papers = {table: self._papers(table) for table in ("invoice", "credit_note")}
        for order_id, amount in self.amounts.items():
            invoices, notes = papers["invoice"][order_id], papers["credit_note"][order_id]
            assert (len(invoices), len(notes)) in PAPERS[self.states["order", order_id]]
            assert {*invoices, *notes} <= {amount}

    def _papers(self, table: str) -> dict[UUID, list[int]]:
        amounts = defaultdict(list)
        rows = self.billing.ask(f"SELECT * FROM {table} ORDER BY sequence")
        assert [row.sequence for row in rows] == list(range(1, len(rows) + 1)), "numbers have no hole and no double"
        for row in rows:
            amounts[row.order_id].append(row.amount_minor)
        return amounts


@pytest.fixture
def world(postgres_url: DatabaseFactory) -> Iterator[World]:
    orders, billing = (
        create_engine(postgres_url(of=kind), None, "test", pool_size=2) for kind in ("orders", "billing")
    )
    yield World(Side("orders", "order", orders, settle_orders), Side("billing", "bill", billing, bill_orders.apply))
    orders.dispose()
    billing.dispose()


Choose = Callable[[list[str]], str]


def every_way(take: Callable[[Choose], None]) -> int:
    """Take every way through a process that asks what to do next; return how many there were."""
    open_ways: list[list[str]] = [[]]
    taken = 0
    while open_ways:
        way = open_ways.pop()
        step = count()

        def choose(options: list[str], way: list[str] = way, step: Iterator[int] = step) -> str:
            at = next(step)
            if at == len(way):
                open_ways.extend([*way, other] for other in options[1:])
                way.append(options[0])
            return way[at]

        take(choose)
        taken += 1
    return taken


def one_order(world: World, choose: Choose, amount_minor: int, cancellations: int, again: int) -> None:
    """Take one order to its end; what comes next is chosen whenever there is a choice."""
    order_id = world.place(amount_minor)
    while options := (
        ["bill", "bill all"][: world.billing.pending]
        + ["settle", "settle all"][: world.orders.pending]
        + ["cancel"] * (cancellations > 0)
    ):
        match choose(options):
            case "bill":
                world.bill(1, again)
            case "bill all":
                world.bill(world.billing.pending, again)
            case "settle":
                world.settle(1, again)
            case "settle all":
                world.settle(world.orders.pending, again)
            case "cancel":
                cancellations -= 1
                world.cancel(order_id)


@pytest.mark.parametrize("again", [0, 9], ids=["once", "everything again and again"])
def test_every_way_leads_to_where_the_machines_say(world: World, again: int) -> None:
    """Paid or declined, cancelled never, once or twice, at every moment, in every batch: the papers fit the order."""
    ways = 0
    for amount in (SMALL, TOO_MUCH):
        for cancellations in (0, 1, 2):
            ways += every_way(lambda choose, a=amount, c=cancellations: one_order(world, choose, a, c, again))  # type: ignore[misc]
    world.judge()
    assert ways > 80
    assert world.met == QUESTIONS - {("bill", None, "OrderCancelled")}, "the machines say nothing that cannot happen"


def test_a_cancellation_without_a_bill_gives_nothing_back(world: World) -> None:
    """Its placement was discarded from billing's parking lot by hand: nothing was charged, nothing is credited."""
    order_id = world.place(SMALL)
    world.billing.at += 1
    world.cancel(order_id)
    world.bill()
    world.judge()
    assert ("bill", None, "OrderCancelled") in world.met
    assert world.orders.pending == 0


@pytest.mark.parametrize("seed", range(8))
def test_many_orders_in_mixed_batches_end_as_each_would_alone(world: World, seed: int) -> None:
    """Batches cut across orders, and a replay goes back as far as it likes; the seed repeats the same run."""
    dice = random.Random(seed)
    orders = []
    for _turn in range(120):
        match dice.choice(["place", "cancel", "bill", "settle"]):
            case "place":
                orders.append(world.place(dice.choice([SMALL, SMALL, TOO_MUCH])))
            case "cancel" if orders:
                world.cancel(dice.choice(orders))
            case "bill":
                world.bill(dice.randint(0, world.billing.pending), dice.randint(0, 30))
            case "settle":
                world.settle(dice.randint(0, world.orders.pending), dice.randint(0, 30))
    while world.billing.pending or world.orders.pending:
        world.bill(world.billing.pending)
        world.settle(world.orders.pending)
    world.judge()
    assert len(orders) > 10


def test_the_databases_allow_the_machines_states_and_no_others(world: World) -> None:
    """The migrations are history and repeat the states; this is what ties them to the machines."""
    check = "SELECT pg_get_constraintdef(oid) AS it FROM pg_constraint WHERE conname = :name"
    for side, name, machine in ((world.orders, "orders_state_check", ORDER), (world.billing, "bill_state_check", BILL)):
        [constraint] = side.ask(check, name=name)
        assert set(re.findall(r"'(\w+)'", constraint.it)) == set(machine.states)
