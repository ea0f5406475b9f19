"""The OpenAPI document of orders' API, made from the types and problems that the code itself uses.

Bounds, members and problem types cannot drift from the code; the list of operations is written here, and a contract
test compares it with the routes.
"""

from typing import Any

import msgspec

from services.orders.api import PROBLEMS
from services.orders.errors import (
    BacklogError,
    InvalidKeyError,
    InvalidOrderError,
    KeyInFlightError,
    KeyReusedError,
    NotCancellableError,
    OrdersError,
    UnknownCurrencyError,
    UnknownOrderError,
    UnreadableOrderError,
)
from services.orders.order_request import OrderRequest
from services.orders.place_order import Receipt
from services.orders.show_order import OrderView
from shared.http.problems import MEDIA_TYPE, type_of

_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": True,
    "description": "Of the customer's choice, the same for every retry of one order.",
    "schema": {"type": "string", "pattern": "^[!-~]{1,200}$"},
}
_TRACEPARENT = {
    "name": "traceparent",
    "in": "header",
    "description": "W3C Trace Context; goes with the order's event through every service.",
    "schema": {"type": "string"},
}
_ORDER_ID = {"name": "order_id", "in": "path", "required": True, "schema": {"type": "string", "format": "uuid"}}


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """RFC 9457."""

    type: str
    title: str
    status: int
    detail: str


def document() -> dict[str, Any]:
    """Return the whole document, ready to be served as JSON."""
    _, schemas = msgspec.json.schema_components(
        [OrderRequest, Receipt, OrderView, Problem], ref_template="#/components/schemas/{name}"
    )
    return {
        "openapi": "3.1.0",
        "info": {"title": "orders", "version": "1", "description": "Amounts are integers in a currency's minor unit."},
        "paths": {
            "/orders": {"post": _place()},
            "/orders/{order_id}": {"get": _show()},
            "/orders/{order_id}/cancel": {"post": _cancel()},
        },
        "components": {"schemas": schemas},
    }


def _place() -> dict[str, Any]:
    refusals = (
        UnreadableOrderError,
        InvalidKeyError,
        InvalidOrderError,
        UnknownCurrencyError,
        KeyReusedError,
        KeyInFlightError,
        BacklogError,
    )
    return {
        "summary": "Place an order, once for each Idempotency-Key of a customer.",
        "parameters": [_KEY, _TRACEPARENT],
        "requestBody": {"required": True, "content": {"application/json": {"schema": _reference(OrderRequest)}}},
        "responses": {
            "201": _answer(Receipt, "Placed; with the header Idempotency-Replayed: true, placed before."),
            "413": _problem("The body is over the limit."),
            "415": _problem("The body is not JSON in UTF-8."),
            **_refusals(*refusals),
        },
    }


def _show() -> dict[str, Any]:
    return {
        "summary": "Show an order as it stands now.",
        "parameters": [_ORDER_ID],
        "responses": {"200": _answer(OrderView, "The order."), **_refusals(UnknownOrderError)},
    }


def _cancel() -> dict[str, Any]:
    return {
        "summary": "Cancel an order that is placed or confirmed.",
        "parameters": [_ORDER_ID, _TRACEPARENT],
        "responses": {
            "200": _answer(OrderView, "The cancelled order."),
            **_refusals(UnknownOrderError, NotCancellableError),
        },
    }


def _reference(kind: type[msgspec.Struct]) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{kind.__name__}"}


def _answer(kind: type[msgspec.Struct], description: str) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": _reference(kind)}}}


def _problem(description: str) -> dict[str, Any]:
    return {"description": description, "content": {MEDIA_TYPE: {"schema": _reference(Problem)}}}


def _refusals(*errors: type[OrdersError]) -> dict[str, Any]:
    """Describe, for each status, the problem types that come with it. Any operation may find the database away."""
    by_status: dict[int, list[str]] = {503: [type_of("Service unavailable")]}
    for status, title in (PROBLEMS[error] for error in errors):
        by_status.setdefault(status, []).append(type_of(title))
    return {str(status): _problem(" or ".join(types)) for status, types in sorted(by_status.items())}
