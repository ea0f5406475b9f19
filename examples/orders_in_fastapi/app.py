"""What the order service answers. Every error is a problem document (RFC 9457)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

from fastapi import FastAPI, Header, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from sqlalchemy import Row, event, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from examples.orders_in_fastapi import orders

OPTIONS = "-c TimeZone=UTC -c lock_timeout=2s -c idle_in_transaction_session_timeout=10s"
LOCK_NOT_AVAILABLE = "55P03"


class Line(BaseModel):
    sku: str = Field(min_length=1, max_length=64)
    quantity: int = Field(ge=1, le=100_000)
    unit_price_minor: int = Field(ge=1, le=10**11)


class Asked(BaseModel):
    customer_id: str = Field(min_length=1, max_length=64)
    email: str
    currency: str = Field(pattern="^[A-Z]{3}$")
    lines: list[Line] = Field(min_length=1, max_length=100)

    def as_order(self) -> dict[str, Any]:
        total = sum(line.quantity * line.unit_price_minor for line in self.lines)
        return {**self.model_dump(), "amount_minor": total}


def build(database_url: str, password_file: str | None, name: str) -> FastAPI:
    """Make the application. Connects when it is first asked for something."""
    engine = make_engine(database_url, password_file, name)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        await engine.dispose()

    app = FastAPI(lifespan=lifespan)
    app.add_exception_handler(orders.Refused, _refused)
    app.add_exception_handler(RequestValidationError, _misshapen)
    app.add_exception_handler(OperationalError, _away)

    @app.post("/orders", status_code=201)
    async def place(
        asked: Asked, request: Request, response: Response, idempotency_key: Annotated[str, Header()]
    ) -> dict[str, Any]:
        async with engine.begin() as connection:
            placed = await orders.place(connection, asked.as_order(), idempotency_key, await request.body())
        response.headers["Location"] = f"/orders/{placed.order.order_id}"
        if placed.replayed:
            response.headers["Idempotency-Replayed"] = "true"
        # Of what never changes in an order, so that a replay is byte for byte the same.
        return {**_named(placed.order, "order_id customer_id currency amount_minor placed_at"), "state": "placed"}

    @app.get("/orders/{order_id}")
    async def show(order_id: UUID) -> Any:
        async with engine.begin() as connection:
            return _view(await orders.find(connection, order_id), order_id)

    @app.post("/orders/{order_id}/cancel")
    async def cancel(order_id: UUID) -> Any:
        async with engine.begin() as connection:
            order = await orders.cancel(connection, order_id)
        return _view(order, order_id)

    @app.get("/healthz")
    async def healthy() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/readyz")
    async def ready() -> dict[str, str]:
        async with engine.connect() as connection:
            await connection.execute(text("SELECT order_id FROM orders LIMIT 0"))
        return {"status": "ready"}

    return app


def make_engine(database_url: str, password_file: str | None, name: str) -> AsyncEngine:
    options = {"application_name": name, "options": OPTIONS, "connect_timeout": 5}
    engine = create_async_engine(
        database_url, pool_size=16, max_overflow=0, pool_pre_ping=True, hide_parameters=True, connect_args=options
    )
    if password_file:

        @event.listens_for(engine.sync_engine, "do_connect")
        def provide_password(_dialect: Any, _record: Any, _args: Any, parameters: dict[str, Any]) -> None:
            parameters["password"] = Path(password_file).read_text().strip()

    return engine


def _view(order: Row[Any] | None, order_id: UUID) -> Any:
    if order is None:
        return problem(404, f"There is no order {order_id}.")
    names = "order_id customer_id state version currency amount_minor lines invoice_number placed_at updated_at"
    return _named(order, names)


def _named(order: Row[Any], names: str) -> dict[str, Any]:
    return {name: getattr(order, name) for name in names.split()}


def problem(status: int, detail: str) -> JSONResponse:
    content = {"type": "about:blank", "status": status, "detail": detail}
    return JSONResponse(content, status, media_type="application/problem+json")


async def _refused(request: Request, error: Exception) -> JSONResponse:
    return problem(409 if request.url.path.endswith("/cancel") else 422, str(error))


async def _misshapen(_request: Request, error: Exception) -> JSONResponse:
    return problem(422, f"The request does not have the right shape: {error}")


async def _away(_request: Request, error: Exception) -> JSONResponse:
    if getattr(getattr(error, "orig", None), "sqlstate", None) == LOCK_NOT_AVAILABLE:
        return problem(409, "Another request for this is still being worked on. Send this one again in a second.")
    return problem(503, "The database does not answer. Send the request again later, with the same key.")
