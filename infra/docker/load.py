"""Keep a small stream of orders flowing, and say where to look: ``python -m infra.docker.load``.

The first order is followed to its invoice, so that the sentence with the URLs says that the system works. ``LOAD`` is
orders per second; with 0 there are none. An order that gets no answer is asked again under the same Idempotency-Key.
Not a load test: that is ``once load``.
"""

import json
import os
import random
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from shared.errors import ConfigurationError
from shared.lifecycle import stop_on_signals
from shared.settings import read, setting

GOODS = (("coffee-1kg", 1890), ("filter-papers-100", 350), ("kettle", 4900), ("grinder", 12900), ("cup", 990))
TIMEOUT_SECONDS = 10.0
FOLLOWED_FOR_SECONDS = 60.0
GREETED = Path("/tmp/up")  # noqa: S108  # the container's own: its health check looks for it


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    load: float = setting(1.0, help="orders per second; 0: none", minimum=0)
    orders_url: str = setting("http://orders-api:8080", help="where orders are placed")
    billing_url: str = setting("http://billing-api:8080", help="where invoices are asked for")
    public_orders_url: str = setting(help="the same as seen by a person at this machine")
    public_billing_url: str = setting(help="the same for billing")
    public_analytics_url: str = setting(help="the same for analytics")


class Shop:
    """The system over HTTP, as a customer sees it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def place(self, stop: threading.Event) -> str | None:
        """Place one order, however often that has to be tried; None when stopped meanwhile."""
        order, key, pause = an_order(), str(uuid4()), 0.2
        while not stop.is_set():
            try:
                headers = {"Content-Type": "application/json", "Idempotency-Key": key}
                return str(_ask(f"{self._settings.orders_url}/orders", json.dumps(order).encode(), headers)["order_id"])
            except OSError as error:
                if isinstance(error, urllib.error.HTTPError) and error.code in range(400, 500) and error.code != 429:
                    raise
                stop.wait(pause)
                pause = min(pause * 2, 5.0)
        return None

    def invoice(self, order_id: str) -> str | None:
        found = _ask(f"{self._settings.billing_url}/invoices?order_id={order_id}")["invoices"]
        return str(found[0]["number"]) if found else None


def an_order() -> dict[str, Any]:
    goods = random.sample(GOODS, k=random.randint(1, 3))  # noqa: S311  # a basket, not a secret
    return {
        "customer_id": f"customer-{random.randint(1, 50)}",  # noqa: S311
        "email": "ada@example.com",
        "currency": random.choice(("EUR", "USD", "GBP")),  # noqa: S311
        "lines": [{"sku": sku, "quantity": random.randint(1, 3), "unit_price_minor": price} for sku, price in goods],  # noqa: S311
    }


def _ask(url: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
    request = urllib.request.Request(url, body, dict(headers or {}))  # noqa: S310  # URLs from the settings
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310
        found: dict[str, Any] = json.loads(answer.read())
        return found


def follow(shop: Shop, order_id: str, stop: threading.Event) -> str | None:
    """Wait for the order's invoice, for a while."""
    for _look in range(int(FOLLOWED_FOR_SECONDS / 0.2)):
        number = shop.invoice(order_id)
        if number is not None or stop.wait(0.2):
            return number
    return None


def welcome(settings: Settings, first: str) -> str:
    pace = (
        f"{settings.load:g} orders a second keep coming (LOAD=0 turns them off)."
        if settings.load
        else "No orders come by themselves (LOAD=0)."
    )
    return f"""
{first}
{pace}

  orders      {settings.public_orders_url}/orders
  invoices    {settings.public_billing_url}/summary
  revenue     {settings.public_analytics_url}/revenue

Now break it, in another terminal:

  docker compose run --rm once demo
"""


def main(environ: Mapping[str, str]) -> None:
    settings, stop = read(Settings, environ), stop_on_signals()
    shop, first = Shop(settings), "The system is up."
    if settings.load:
        order_id = shop.place(stop)
        number = follow(shop, order_id, stop) if order_id else None
        if number:
            first = f"The system is up: order {order_id} has got its invoice {number}."
        elif order_id and not stop.is_set():
            first = f"The system is up, but order {order_id} has no invoice yet. See `docker compose logs billing-1`."
    print(welcome(settings, first), flush=True)  # noqa: T201  # the words of the container
    GREETED.touch()
    while settings.load and not stop.wait(1 / settings.load):
        shop.place(stop)
    stop.wait()


if __name__ == "__main__":
    try:
        main(os.environ)
    except ConfigurationError as error:
        sys.exit(str(error))
