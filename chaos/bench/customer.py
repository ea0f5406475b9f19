"""One process of customers: threads that place orders through the use case, as fast as they can, for so many seconds.

Prints transactions per second. ``BENCH_EVENTS=0`` takes the event out of the transaction.
"""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from types import SimpleNamespace
from uuid import uuid4

import msgspec
from sqlalchemy import Engine

from services.orders import place_order
from services.orders.order_request import OrderRequest
from shared.database import create_engine

WARM_UP_SECONDS = 1.0
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
BODY = msgspec.json.encode(
    {
        "customer_id": "customer-1",
        "email": "customer-1@example.com",
        "currency": "EUR",
        "lines": [{"sku": "sku-1", "quantity": 2, "unit_price_minor": 1999}],
    }
)


def main() -> None:
    threads, seconds = int(os.environ["BENCH_THREADS"]), float(os.environ["BENCH_SECONDS"])
    if os.environ["BENCH_EVENTS"] == "0":
        place_order.outbox = SimpleNamespace(add=lambda *_: None)  # type: ignore[attr-defined,assignment]
    engine = create_engine(
        os.environ["DATABASE_URL"], os.environ["DATABASE_PASSWORD_FILE"], "bench-customer", pool_size=threads
    )
    stop, warm = threading.Event(), threading.Event()
    with ThreadPoolExecutor(threads) as pool:
        placed = [pool.submit(buy, engine, warm, stop) for _ in range(threads)]
        time.sleep(WARM_UP_SECONDS)
        warm.set()
        time.sleep(seconds)
        stop.set()
    print(sum(each.result() for each in placed) / seconds)  # noqa: T201  # read by the one who started this


def buy(engine: Engine, warm: threading.Event, stop: threading.Event) -> int:
    """Place orders until stopped; those of the warm-up are not counted."""
    request, counted = msgspec.json.decode(BODY, type=OrderRequest), 0
    for _ in count():
        place_order.place_order(
            engine,
            request,
            key=uuid4().hex,
            body=BODY,
            traceparent=TRACE,
            wait_seconds=5,
        )
        counted += warm.is_set()
        if stop.is_set():
            break
    return counted


if __name__ == "__main__":
    main()
