"""Analytics' read-only HTTP API. Amounts are integers in the minor unit of their currency; days are UTC days."""

from datetime import date
from typing import Any

from flask import Flask, request
from sqlalchemy import Engine, text
from werkzeug.exceptions import BadRequest

from services.analytics import figures
from shared.database import transaction
from shared.http import install


def create_app(engine: Engine) -> Flask:
    """Make the application over an engine that was made in the same process, after any fork."""
    app = Flask("services.analytics")
    app.json.sort_keys = False  # type: ignore[attr-defined]  # Flask's default provider has it, its base class not

    def ready() -> None:
        with transaction(engine) as connection:
            connection.execute(text("SELECT 1"))

    install(app, ready)

    @app.get("/revenue")
    def show_revenue() -> dict[str, Any]:
        day = _asked_day()
        with transaction(engine) as connection:
            return {"revenue": figures.revenue_by_day(connection, day)}

    @app.get("/orders-by-state")
    def show_orders_by_state() -> dict[str, Any]:
        with transaction(engine) as connection:
            return {"orders_by_state": figures.orders_in_each_state(connection)}

    return app


def _asked_day() -> date | None:
    """Return the day that the query names, if any. Raises BadRequest, which becomes a problem document."""
    asked = request.args.get("day")
    try:
        return date.fromisoformat(asked) if asked is not None else None
    except ValueError as error:
        raise BadRequest(
            "The day must be a date as in ?day=2026-01-31. Correct it, or leave it out for all."
        ) from error
