"""The OpenAPI document of analytics' API, made from the types that the code itself answers with.

The list of operations and of what they may be asked is written here; a contract test compares it with the routes and
with real answers.
"""

from typing import Any

import msgspec

from services.analytics.api import CURRENCY, MOST_SKUS, OrdersByDay, OrdersByState, Revenue, TopSkus
from services.analytics.figures import MEASURES
from shared.http.problems import MEDIA_TYPE, type_of

_DAY = {
    "name": "day",
    "in": "query",
    "description": "One UTC day; left out: all.",
    "schema": {"type": "string", "format": "date"},
}
_CURRENCY = {
    "name": "currency",
    "in": "query",
    "required": True,
    "description": "Amounts of different currencies cannot be compared.",
    "schema": {"type": "string", "pattern": f"^{CURRENCY}$"},
}
_MEASURE = {
    "name": "by",
    "in": "query",
    "description": "What most means.",
    "schema": {"type": "string", "enum": list(MEASURES), "default": MEASURES[0]},
}
_LIMIT = {
    "name": "limit",
    "in": "query",
    "schema": {"type": "integer", "minimum": 1, "maximum": MOST_SKUS, "default": 10},
}


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """RFC 9457."""

    type: str
    title: str
    status: int
    detail: str


def document() -> dict[str, Any]:
    """Return the whole document, ready to be served as JSON."""
    _, schemas = msgspec.json.schema_components(
        [Revenue, OrdersByState, OrdersByDay, TopSkus, Problem], ref_template="#/components/schemas/{name}"
    )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "analytics",
            "version": "1",
            "description": "A read model of all orders, a little behind them. Amounts are integers in a currency's "
            "minor unit; days are UTC days.",
        },
        "paths": {
            "/revenue": _get("Show what was invoiced and credited, by day and currency.", Revenue, _DAY),
            "/orders-by-state": _get("Show how many orders stand where.", OrdersByState),
            "/orders-by-day": _get("Show where the orders stand that were placed on a day.", OrdersByDay, _DAY),
            "/top-skus": _get("Show what is ordered most in a currency.", TopSkus, _CURRENCY, _MEASURE, _LIMIT),
        },
        "components": {"schemas": schemas},
    }


def _get(summary: str, kind: type[msgspec.Struct], *parameters: dict[str, Any]) -> dict[str, Any]:
    refusals = {"400": _problem("Bad Request")} if parameters else {}
    answer = {"description": "As far as events have been applied.", "content": {"application/json": _schema(kind)}}
    operation: dict[str, Any] = {
        "summary": summary,
        "parameters": list(parameters),
        "responses": {"200": answer, **refusals, "503": _problem("Service unavailable")},
    }
    return {"get": operation}


def _schema(kind: type[msgspec.Struct]) -> dict[str, Any]:
    return {"schema": {"$ref": f"#/components/schemas/{kind.__name__}"}}


def _problem(title: str) -> dict[str, Any]:
    return {"description": type_of(title), "content": {MEDIA_TYPE: _schema(Problem)}}
