"""What customers will do, from a seed."""

from itertools import islice

import pytest

from chaos import plan
from chaos.history import Outcome
from chaos.plan import Shape
from chaos.scenario import Workload


def test_the_same_seed_plans_the_same_orders() -> None:
    """Keys, amounts and behaviour depend on the seed and on the number of the order alone."""
    first = list(islice(plan.orders(Workload(), 7), 50))
    again = list(islice(plan.orders(Workload(threads=2, seconds=99), 7), 50))
    other = list(islice(plan.orders(Workload(), 8), 50))
    assert first == again
    assert first != other


@pytest.mark.parametrize(("currency", "limit_minor"), [("EUR", 1_000_000), ("JPY", 10_000), ("KWD", 10_000_000)])
def test_the_limit_follows_the_decimals_of_the_currency(currency: str, limit_minor: int) -> None:
    """10,000.00 is still paid, one minor unit more is not, whatever a minor unit is."""
    assert plan.outcome_of(currency, limit_minor) is Outcome.INVOICED
    assert plan.outcome_of(currency, limit_minor + 1) is Outcome.DECLINED


def test_outcomes_and_amounts_follow_from_the_lines() -> None:
    """An order's amount is the sum of its lines, and only an order that is meant to be declined is above the limit."""
    for order in islice(plan.orders(Workload(), 3), 500):
        total = sum(line["quantity"] * line["unit_price_minor"] for line in order.body["lines"])
        assert order.amount_minor == total
        assert (order.outcome is Outcome.DECLINED) == (order.shape is Shape.DECLINED)


def test_every_shape_comes_up() -> None:
    """A run of the usual length has orders of every shape, so that no rule is kept for want of trying."""
    assert {order.shape for order in islice(plan.orders(Workload(share_oversized=0.05), 1), 300)} == set(Shape)
