"""Read the figures of the read model. Writes nothing."""

from datetime import date
from typing import Any, Final, Literal, get_args

from sqlalchemy import Connection, select

from services.analytics.tables import ordered_skus, orders_by_day, orders_by_state, revenue

Measure = Literal["quantity", "amount_minor", "orders"]
MEASURES: Final[tuple[Measure, ...]] = get_args(Measure)


def revenue_by_day(connection: Connection, day: date | None = None) -> list[dict[str, Any]]:
    statement = select(revenue).order_by(revenue.c.day, revenue.c.currency)
    if day is not None:
        statement = statement.where(revenue.c.day == day)
    return [{**row, "day": row["day"].isoformat()} for row in connection.execute(statement).mappings()]


def orders_in_each_state(connection: Connection) -> dict[str, int]:
    rows = connection.execute(select(orders_by_state).order_by(orders_by_state.c.state))
    return {row.state: row.orders for row in rows}


def orders_of_each_day(connection: Connection, day: date | None = None) -> list[dict[str, Any]]:
    """Return how many orders of a day and currency stand where; a state that none is in any more is left out."""
    counts = orders_by_day.c
    statement = select(orders_by_day).where(counts.orders > 0).order_by(counts.day, counts.currency, counts.state)
    if day is not None:
        statement = statement.where(counts.day == day)
    return [{**row, "day": row["day"].isoformat()} for row in connection.execute(statement).mappings()]


def top_skus(connection: Connection, currency: str, by: Measure, limit: int) -> list[dict[str, Any]]:
    """Return what was ordered most in a currency, the greatest first."""
    articles = ordered_skus.c
    statement = (
        select(articles.sku, articles.orders, articles.quantity, articles.amount_minor)
        .where(articles.currency == currency)
        .order_by(articles[by].desc(), articles.sku)
        .limit(limit)
    )
    return [dict(row) for row in connection.execute(statement).mappings()]
