"""Read the figures of the read model, in the shape in which they are answered. Writes nothing."""

from datetime import date
from typing import Final, Literal, get_args

import msgspec
from sqlalchemy import Connection, select

from services.analytics.tables import ordered_skus, orders_by_day, orders_by_state, revenue

Measure = Literal["quantity", "amount_minor", "orders"]
MEASURES: Final[tuple[Measure, ...]] = get_args(Measure)


class RevenueOfDay(msgspec.Struct, frozen=True, kw_only=True):
    """What was invoiced and credited on a UTC day, each by the day of its own document."""

    day: date
    currency: str
    invoices: int
    amount_minor: int
    credited_minor: int


class OrdersOfDay(msgspec.Struct, frozen=True, kw_only=True):
    """How many of the orders that were placed on a UTC day stand where."""

    day: date
    currency: str
    state: str
    orders: int


class OrderedSku(msgspec.Struct, frozen=True, kw_only=True):
    """What was ordered of an article, whether it was invoiced or not."""

    sku: str
    orders: int
    quantity: int
    amount_minor: int


def revenue_by_day(connection: Connection, day: date | None = None) -> list[RevenueOfDay]:
    statement = select(revenue).order_by(revenue.c.day, revenue.c.currency)
    if day is not None:
        statement = statement.where(revenue.c.day == day)
    return [RevenueOfDay(**row) for row in connection.execute(statement).mappings()]


def orders_in_each_state(connection: Connection) -> dict[str, int]:
    rows = connection.execute(select(orders_by_state).order_by(orders_by_state.c.state))
    return {row.state: row.orders for row in rows}


def orders_of_each_day(connection: Connection, day: date | None = None) -> list[OrdersOfDay]:
    """Return how many orders of a day and currency stand where; a state that none is in any more is left out."""
    counts = orders_by_day.c
    statement = select(orders_by_day).where(counts.orders > 0).order_by(counts.day, counts.currency, counts.state)
    if day is not None:
        statement = statement.where(counts.day == day)
    return [OrdersOfDay(**row) for row in connection.execute(statement).mappings()]


def top_skus(connection: Connection, currency: str, by: Measure, limit: int) -> list[OrderedSku]:
    """Return what was ordered most in a currency, the greatest first."""
    articles = ordered_skus.c
    statement = (
        select(articles.sku, articles.orders, articles.quantity, articles.amount_minor)
        .where(articles.currency == currency)
        .order_by(articles[by].desc(), articles.sku)
        .limit(limit)
    )
    return [OrderedSku(**row) for row in connection.execute(statement).mappings()]
