"""Read the figures of the read model. Writes nothing."""

from datetime import date
from typing import Any

from sqlalchemy import Connection, select

from services.analytics.tables import orders_by_state, revenue


def revenue_by_day(connection: Connection, day: date | None = None) -> list[dict[str, Any]]:
    statement = select(revenue).order_by(revenue.c.day, revenue.c.currency)
    if day is not None:
        statement = statement.where(revenue.c.day == day)
    return [{**row, "day": row["day"].isoformat()} for row in connection.execute(statement).mappings()]


def orders_in_each_state(connection: Connection) -> dict[str, int]:
    rows = connection.execute(select(orders_by_state).order_by(orders_by_state.c.state))
    return {row.state: row.orders for row in rows}
