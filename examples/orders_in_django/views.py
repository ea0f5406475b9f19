"""What the order service answers. Every error is a problem document (RFC 9457)."""

from typing import Any
from uuid import UUID

import msgspec
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse

from examples.orders_in_django import orders
from examples.orders_in_django.models import Order
from shared.events import AmountMinor, Currency, OrderLine


class Asked(msgspec.Struct, kw_only=True):
    customer_id: str
    email: str
    currency: Currency
    lines: tuple[OrderLine, ...]

    def as_order(self) -> dict[str, Any]:
        total = sum(line.quantity * line.unit_price_minor for line in self.lines)
        amount: AmountMinor = msgspec.convert(total, AmountMinor)
        return {**msgspec.to_builtins(self), "lines": msgspec.to_builtins(self.lines), "amount_minor": amount}


def place(request: HttpRequest) -> HttpResponse:
    key = request.headers.get("Idempotency-Key")
    if request.method != "POST" or not key:
        return problem(400, "POST an order with an Idempotency-Key.")
    try:
        asked = msgspec.json.decode(request.body, type=Asked).as_order()
        order, replayed = orders.place(asked, key, request.body)
    except msgspec.ValidationError as error:
        return problem(422, f"The order does not have the right shape: {error}.")
    except msgspec.DecodeError as error:
        return problem(400, f"The body is not JSON: {error}.")
    except orders.KeyReused as error:
        return problem(422, str(error))
    except OperationalError as error:
        return waited_or_raise(error)
    # Of what never changes in an order, so that a replay is byte for byte the same.
    receipt = JsonResponse({**_named(order, "order_id customer_id currency amount_minor placed_at"), "state": "placed"})
    receipt.status_code = 201
    receipt["Location"] = f"/orders/{order.order_id}"
    if replayed:
        receipt["Idempotency-Replayed"] = "true"
    return receipt


def show(_request: HttpRequest, order_id: UUID) -> HttpResponse:
    try:
        return view(Order.objects.get(order_id=order_id))
    except Order.DoesNotExist:
        return problem(404, f"There is no order {order_id}.")


def cancel(_request: HttpRequest, order_id: UUID) -> HttpResponse:
    try:
        return view(orders.cancel(order_id))
    except Order.DoesNotExist:
        return problem(404, f"There is no order {order_id}.")
    except orders.NotCancellable as error:
        return problem(409, str(error))
    except OperationalError as error:
        return waited_or_raise(error)


def healthy(_request: HttpRequest) -> HttpResponse:
    return JsonResponse({"status": "ok"})


def ready(_request: HttpRequest) -> HttpResponse:
    Order.objects.exists()
    return JsonResponse({"status": "ready"})


def view(order: Order) -> HttpResponse:
    names = "order_id customer_id state version currency amount_minor lines invoice_number placed_at updated_at"
    return JsonResponse(_named(order, names))


def waited_or_raise(error: OperationalError) -> HttpResponse:
    """Answer a request that waited too long for another with its key or its order. Whatever else it is, is raised."""
    if getattr(error.__cause__, "sqlstate", None) != "55P03":
        raise error
    return problem(409, "Another request for this is still being worked on. Send this one again in a second.")


def problem(status: int, detail: str) -> HttpResponse:
    content = {"type": "about:blank", "status": status, "detail": detail}
    return JsonResponse(content, status=status, content_type="application/problem+json")


def _named(order: Order, names: str) -> dict[str, Any]:
    return {name: getattr(order, name) for name in names.split()}
