"""An order API that looks whether a key is known, and writes it if not.

Guard removed: the UNIQUE on the idempotency key, and the one statement that leaves the decision to it. Scenario:
``same_key_at_once``.
Expected verdict: FAIL, with S24 red: of several requests with one key at once, each sees nothing and each places an
order. S11 holds: every one of these orders gets its one invoice.

Between a look and a write there is always room for somebody else.
"""

import os
from functools import partial
from uuid import UUID

from flask import Flask
from sqlalchemy import Connection, insert, select

from chaos.unsafe import Variant
from services.orders import tables
from services.orders.settings import ApiSettings
from services.orders.wiring import build_api
from shared import http, logs
from shared.settings import read

VARIANT = Variant(
    name="orders_look_before_they_write",
    guard="unique-key",
    replaces=("services.orders", "api"),
    scenario="same_key_at_once",
    must_fail=frozenset({"S24"}),
    may_fail=frozenset({"S00", "S03"}),
    before_start={"orders": ("ALTER TABLE idempotency_key DROP CONSTRAINT idempotency_key_pkey",)},
)


def look_then_write(connection: Connection, customer_id: str, key: str, body_hash: bytes, order_id: UUID) -> bool:
    """What ``tables.claim_key`` is instead of, in two statements."""
    known = tables.idempotency_key
    mine = (known.c.customer_id == customer_id, known.c.key == key)
    if connection.execute(select(known.c.order_id).where(*mine)).first() is not None:
        return False
    row = {"customer_id": customer_id, "key": key, "body_hash": body_hash, "order_id": order_id}
    connection.execute(insert(known).values(row))
    return True


def build(settings: ApiSettings) -> Flask:
    tables.claim_key = look_then_write
    return build_api(settings)


def main() -> None:
    settings = read(ApiSettings, os.environ)
    logs.configure(settings.instance, settings.log_level)
    http.serve(partial(build, settings), settings.http_host, settings.http_port, settings.http_workers)


if __name__ == "__main__":
    main()
