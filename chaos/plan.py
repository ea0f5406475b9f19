"""What the customers will do, decided before anything happens: a pure function of the seed.

The plan carries the outcome that each intent must have, by a rule of its own: an order above 10,000.00 of its currency
is declined. It is written down a second time on purpose. A judge that asked billing what billing should have done
would agree with every mistake in it.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any
from uuid import UUID

from chaos.history import Outcome
from chaos.scenario import Workload

DECIMALS: Mapping[str, int] = {"EUR": 2, "USD": 2, "GBP": 2, "CHF": 2, "SEK": 2, "JPY": 0, "KWD": 3}
LIMIT_MAJOR = 10_000
GOODS = ("coffee-1kg", "grinder", "kettle", "filter-100", "scale", "mug", "tamper", "descaler")


class Shape(StrEnum):
    """How a customer behaves around one order."""

    PLAIN = "plain"
    DECLINED = "declined"
    CANCELLED_LATER = "cancelled later"
    CANCELLED_AT_ONCE = "cancelled at once"
    SAME_KEY_AT_ONCE = "same key at once"
    SAME_KEY_LATER = "same key later"
    SAME_KEY_OTHER_BODY = "same key, another body"
    OVERSIZED = "oversized"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedOrder:
    """One order that will be placed: who, what, for how much, and how it has to end when nobody cancels it."""

    number: int
    shape: Shape
    customer_id: str
    key: str
    currency: str
    amount_minor: int
    outcome: Outcome
    body: Mapping[str, Any]
    copy: str = ""

    @property
    def reference(self) -> str:
        return f"order-{self.number:06d}{self.copy}"


def with_another_body(order: PlannedOrder) -> PlannedOrder:
    """What a careless client sends under the key of an order that it has placed. It has to be refused."""
    first, *rest = order.body["lines"]
    more = {**first, "quantity": first["quantity"] + 1}
    amount_minor = order.amount_minor + first["unit_price_minor"]
    return replace(
        order,
        copy="-other",
        amount_minor=amount_minor,
        outcome=outcome_of(order.currency, amount_minor),
        body={**order.body, "lines": [more, *rest]},
    )


def outcome_of(currency: str, amount_minor: int) -> Outcome:
    """The client's own copy of the payment rule."""
    return Outcome.DECLINED if amount_minor > LIMIT_MAJOR * 10 ** DECIMALS[currency] else Outcome.INVOICED


def orders(workload: Workload, seed: int) -> Iterator[PlannedOrder]:
    """Endless; the n-th order depends on the seed and on n alone."""
    number = 0
    while True:
        yield _order(workload, random.Random(f"{seed}/{number}"), number)  # noqa: S311 - a plan, not a secret
        number += 1


def _order(workload: Workload, dice: random.Random, number: int) -> PlannedOrder:
    shape = _shape(workload, dice)
    currency = dice.choice(list(DECIMALS))
    lines = _lines(dice, DECIMALS[currency], shape)
    amount_minor = sum(line["quantity"] * line["unit_price_minor"] for line in lines)
    # Customers have ids of their own, the same in every run with the same seed.
    customer = dice.randrange(workload.customers)
    customer_id = str(UUID(int=0x_0C05_7000_0000_4000_8000_0000_0000_0000 + customer))
    return PlannedOrder(
        number=number,
        shape=shape,
        customer_id=customer_id,
        key=str(UUID(int=dice.getrandbits(128), version=4)),
        currency=currency,
        amount_minor=amount_minor,
        outcome=outcome_of(currency, amount_minor),
        body={
            "customer_id": customer_id,
            "email": f"customer-{customer}@example.com",
            "currency": currency,
            "lines": lines,
        },
    )


def _shape(workload: Workload, dice: random.Random) -> Shape:
    shares = {
        Shape.DECLINED: workload.share_declined,
        Shape.CANCELLED_LATER: workload.share_cancelled_later,
        Shape.CANCELLED_AT_ONCE: workload.share_cancelled_at_once,
        Shape.SAME_KEY_AT_ONCE: workload.share_same_key_at_once,
        Shape.SAME_KEY_LATER: workload.share_same_key_later,
        Shape.SAME_KEY_OTHER_BODY: workload.share_same_key_other_body,
        Shape.OVERSIZED: workload.share_oversized,
    }
    left = 1 - sum(shares.values())
    return dice.choices([*shares, Shape.PLAIN], [*shares.values(), left])[0]


def _lines(dice: random.Random, decimals: int, shape: Shape) -> list[dict[str, Any]]:
    """One to three lines, with a total well below the limit or clearly above it. Or a hundred lines, all different."""
    unit = 10**decimals
    if shape is Shape.OVERSIZED:
        return [
            {"sku": f"{dice.getrandbits(256):064x}", "quantity": 1, "unit_price_minor": dice.randint(1, 50 * unit)}
            for _line in range(100)
        ]
    if shape is Shape.DECLINED:
        price = LIMIT_MAJOR * unit + dice.randrange(1, 500 * unit)
        return [{"sku": "roaster", "quantity": 2, "unit_price_minor": price}]
    return [
        {"sku": sku, "quantity": dice.randint(1, 4), "unit_price_minor": dice.randint(1, 180 * unit)}
        for sku in dice.sample(GOODS, dice.randint(1, 3))
    ]
