"""Billing that counts in floating point.

Guard removed: money as integers of minor units. Scenario: ``smoke``; no fault is needed. Expected verdict: FAIL, with
S14 red (and S00, since a customer was told another amount): 0.29 is 0.28999..., and what is cut off at the second
decimal is a cent. S11 holds: every order has its one invoice.

No crash, no duplicate, nothing lost: sums come out almost right, and only comparing each amount finds it.
"""

import os
from collections.abc import Sequence
from dataclasses import replace

from msgspec import structs
from sqlalchemy import Connection

from chaos.unsafe import Variant
from services.billing import bill_orders, wiring
from services.billing.settings import Settings
from shared import events, logs, metrics
from shared.events import CURRENCIES, OrderPlaced
from shared.inbox import Delivery
from shared.lifecycle import stop_on_signals
from shared.settings import read

VARIANT = Variant(
    name="billing_with_float_money",
    guard="integer-money",
    replaces=("services.billing", "consumer"),
    scenario="smoke",
    must_fail=frozenset({"S00", "S14", "S15"}),
    may_fail=frozenset({"S17", "S19", "S23"}),
)


def apply(connection: Connection, batch: Sequence[Delivery]) -> None:
    """The reference handler, told amounts that have been through a float."""
    bill_orders.apply(connection, [_in_floats(delivery) for delivery in batch])


def _in_floats(delivery: Delivery) -> Delivery:
    order = delivery.payload
    if not isinstance(order, OrderPlaced):
        return delivery
    unit = 10 ** CURRENCIES[order.currency]
    price = order.amount_minor / unit
    amount_minor = int(price * unit)  # 0.29 * 100 is 28.999999999999996
    payload = events.encode(structs.replace(order, amount_minor=amount_minor))
    return replace(delivery, envelope=replace(delivery.envelope, payload=payload))


def main() -> None:
    settings = read(Settings, os.environ)
    logs.configure(settings.instance, settings.log_level)
    metrics.serve(settings.metrics_host, settings.metrics_port)
    wiring.build(settings, handler=apply).run(stop_on_signals())


if __name__ == "__main__":
    main()
