"""Billing's read-only HTTP API. Amounts are integers in the minor unit of their currency; times are RFC 3339, UTC."""

import re
from typing import Any, Final
from uuid import UUID

from flask import Flask, Response, request
from sqlalchemy import Engine, text
from werkzeug.exceptions import BadRequest

from services.billing import books
from shared.database import transaction
from shared.http import install, problem

_NUMBER: Final = re.compile(r"[A-Z]{3}-[0-9]{4}-[0-9]{6,18}")
"""What a number can look like. The database would refuse some texts (one with a NUL) instead of finding nothing."""


def create_app(engine: Engine) -> Flask:
    """Make the application over an engine that was made in the same process, after any fork."""
    app = Flask("services.billing")
    app.json.sort_keys = False  # type: ignore[attr-defined]  # Flask's default provider has it, its base class not

    def ready() -> None:
        with transaction(engine) as connection:
            connection.execute(text("SELECT 1"))

    install(app, ready)

    @app.get("/invoices")
    def list_invoices() -> dict[str, Any]:
        with transaction(engine) as connection:
            return {"invoices": books.invoices_of(connection, _asked_order())}

    @app.get("/invoices/<number>")
    def show_invoice(number: str) -> dict[str, Any] | Response:
        found = None
        if _NUMBER.fullmatch(number):
            with transaction(engine) as connection:
                found = books.invoice_by_number(connection, number)
        if found is None:
            return problem(
                404, "Unknown invoice", "No invoice has this number. Ask /invoices?order_id= for an order's."
            )
        return found

    @app.get("/credit-notes")
    def list_credit_notes() -> dict[str, Any]:
        with transaction(engine) as connection:
            return {"credit_notes": books.credit_notes_of(connection, _asked_order())}

    @app.get("/summary")
    def show_summary() -> dict[str, Any]:
        with transaction(engine) as connection:
            return books.summary(connection)

    return app


def _asked_order() -> UUID:
    """Return the order that the query names. Raises BadRequest, which becomes a problem document."""
    try:
        return UUID(request.args.get("order_id", ""))
    except ValueError as error:
        raise BadRequest("The query must name one order by its UUID, as in ?order_id=<uuid>. Add it.") from error
