"""Analytics' read-only HTTP API. Amounts are integers in the minor unit of their currency; days are UTC days."""

import re
from datetime import date
from typing import Final

import msgspec
from flask import Flask, Response, request
from sqlalchemy import Engine, text
from werkzeug.exceptions import BadRequest

from services.analytics import figures
from shared.database import transaction
from shared.http import install

MOST_SKUS: Final = 100
CURRENCY: Final = "[A-Z]{3}"


class Revenue(msgspec.Struct, frozen=True):
    revenue: list[figures.RevenueOfDay]


class OrdersByState(msgspec.Struct, frozen=True):
    orders_by_state: dict[str, int]


class OrdersByDay(msgspec.Struct, frozen=True):
    orders_by_day: list[figures.OrdersOfDay]


class TopSkus(msgspec.Struct, frozen=True):
    currency: str
    by: figures.Measure
    skus: list[figures.OrderedSku]


def create_app(engine: Engine) -> Flask:
    """Make the application over an engine that was made in the same process, after any fork."""
    app = Flask("services.analytics")

    def ready() -> None:
        with transaction(engine) as connection:
            connection.execute(text("SELECT 1"))

    install(app, ready)

    @app.get("/revenue")
    def show_revenue() -> Response:
        day = _asked_day()
        with transaction(engine) as connection:
            return _answer(Revenue(figures.revenue_by_day(connection, day)))

    @app.get("/orders-by-state")
    def show_orders_by_state() -> Response:
        with transaction(engine) as connection:
            return _answer(OrdersByState(figures.orders_in_each_state(connection)))

    @app.get("/orders-by-day")
    def show_orders_by_day() -> Response:
        day = _asked_day()
        with transaction(engine) as connection:
            return _answer(OrdersByDay(figures.orders_of_each_day(connection, day)))

    @app.get("/top-skus")
    def show_top_skus() -> Response:
        currency, by, limit = _asked_currency(), _asked_measure(), _asked_limit()
        with transaction(engine) as connection:
            return _answer(TopSkus(currency, by, figures.top_skus(connection, currency, by, limit)))

    return app


def _answer(content: msgspec.Struct) -> Response:
    return Response(msgspec.json.encode(content), content_type="application/json")


def _asked_currency() -> str:
    asked = request.args.get("currency", "")
    if re.fullmatch(CURRENCY, asked) is None:
        raise BadRequest("Say of which currency, as in ?currency=EUR: amounts of different ones cannot be compared.")
    return asked


def _asked_measure() -> figures.Measure:
    asked = request.args.get("by", figures.MEASURES[0])
    for measure in figures.MEASURES:
        if measure == asked:
            return measure
    raise BadRequest(f"By what? Say one of {', '.join(figures.MEASURES)}, or leave it out for the first.")


def _asked_limit() -> int:
    asked = request.args.get("limit", "10")
    if not (asked.isascii() and asked.isdecimal() and len(asked) <= 3 and 1 <= int(asked) <= MOST_SKUS):
        raise BadRequest(f"The limit must be a number from 1 to {MOST_SKUS}.")
    return int(asked)


def _asked_day() -> date | None:
    """Return the day that the query names, if any. Raises BadRequest, which becomes a problem document."""
    asked = request.args.get("day")
    try:
        return date.fromisoformat(asked) if asked is not None else None
    except ValueError as error:
        raise BadRequest(
            "The day must be a date as in ?day=2026-01-31. Correct it, or leave it out for all."
        ) from error
