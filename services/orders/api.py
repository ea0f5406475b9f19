"""The HTTP API of orders: reads requests, calls one use case each, and writes answers.

Invariant: every error is a problem document, and whatever is wrong with a request is found before anything is written.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any
from uuid import UUID

import msgspec
from flask import Flask, Request, Response, request
from sqlalchemy import Engine
from werkzeug.exceptions import RequestEntityTooLarge, UnsupportedMediaType

from services.orders.backlog import Gate
from services.orders.cancel_order import cancel_order
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
from services.orders.order_request import read_key, read_order
from services.orders.place_order import place_order
from services.orders.show_order import show_order, view
from shared.http import problem
from shared.tracing import current_traceparent

PROBLEMS: dict[type[OrdersError], tuple[int, str]] = {
    UnreadableOrderError: (400, "Unreadable body"),
    InvalidKeyError: (400, "Invalid Idempotency-Key"),
    InvalidOrderError: (422, "Invalid order"),
    UnknownCurrencyError: (422, "Unknown currency"),
    KeyReusedError: (422, "Idempotency-Key reused"),
    KeyInFlightError: (409, "Request in flight"),
    NotCancellableError: (409, "Order not cancellable"),
    UnknownOrderError: (404, "Unknown order"),
    BacklogError: (503, "Backlog too old"),
}
RETRY_AFTER_SECONDS = {KeyInFlightError: 1, BacklogError: 10}
DISCARD_BYTES, DISCARD_BLOCK_BYTES = 16 * 2**20, 2**16


def add_routes(
    app: Flask, engine: Engine, gate: Gate, wake: Callable[[], None], *, body_limit_bytes: int, wait_seconds: float
) -> None:
    """``wake`` is called after a commit that may have written an event."""
    app.register_error_handler(OrdersError, _refused)

    @app.post("/orders")
    def place() -> Response:
        _want_json(request)
        key = read_key(request.headers.get("Idempotency-Key"))
        body = _read_body(request, body_limit_bytes)
        order = read_order(body)
        gate.check()
        placed = place_order(
            engine,
            order,
            key=key,
            body=body,
            traceparent=current_traceparent(),
            wait_seconds=wait_seconds,
        )
        wake()
        headers = {"Location": f"/orders/{placed.receipt.order_id}"}
        if placed.replayed:
            headers["Idempotency-Replayed"] = "true"
        return _answer(201, placed.receipt, headers)

    @app.get("/orders/<order_id>")
    def show(order_id: str) -> Response:
        return _answer(200, show_order(engine, _order_id(order_id)))

    @app.post("/orders/<order_id>/cancel")
    def cancel(order_id: str) -> Response:
        order = cancel_order(
            engine,
            _order_id(order_id),
            traceparent=current_traceparent(),
            wait_seconds=wait_seconds,
        )
        wake()
        return _answer(200, view(order))


def _answer(status: int, content: msgspec.Struct, headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(content), status, headers, content_type="application/json")


def _refused(error: OrdersError) -> Response:
    status, title = PROBLEMS[type(error)]
    headers = {"Retry-After": str(RETRY_AFTER_SECONDS[type(error)])} if type(error) in RETRY_AFTER_SECONDS else None
    extra: dict[str, Any] = {"state": error.state} if isinstance(error, NotCancellableError) else {}
    return problem(status, title, str(error), headers=headers, **extra)


def _want_json(asked: Request) -> None:
    charset = asked.mimetype_params.get("charset", "utf-8").lower()
    if asked.mimetype != "application/json" or charset not in ("utf-8", "utf8") or asked.content_encoding:
        raise UnsupportedMediaType(
            "An order is sent as plain JSON in UTF-8: set 'Content-Type: application/json' and no Content-Encoding."
        )


def _read_body(asked: Request, limit_bytes: int) -> bytes:
    """Return the body. Raises RequestEntityTooLarge, having kept no more than a byte beyond the limit."""
    # One byte above the limit, since the framework cuts a chunked body at its own limit without a word.
    asked.max_content_length = limit_bytes + 1
    if (asked.content_length or 0) <= limit_bytes:
        body = asked.get_data(cache=False)
        if len(body) <= limit_bytes:
            return body
    _discard_rest(asked)
    raise RequestEntityTooLarge(
        f"The body is larger than {limit_bytes} bytes, which no order needs. Send a smaller one."
    )


def _discard_rest(asked: Request) -> None:
    """Take in what the client is still sending, within reason: most read an answer only when they have sent all."""
    source, blocks = asked.environ["wsgi.input"], DISCARD_BYTES // DISCARD_BLOCK_BYTES
    with suppress(OSError):  # the client is gone
        while blocks and source.read(DISCARD_BLOCK_BYTES):
            blocks -= 1


def _order_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise UnknownOrderError("There is no such order: its id is not a UUID.") from None
