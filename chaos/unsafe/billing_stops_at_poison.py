"""Billing that ends with what it cannot apply, and meets it again when it is started again.

Guard removed: the consumer's parking lot. Scenario: ``poisoned_topic``. Expected verdict: FAIL, with S00 S12 S15 S23
L02 red: every order whose event stands behind such a message, in its partition, is never billed. S11 holds: nothing is
doubled.

This is what "let it crash" amounts to where the next life gets the same message.
"""

import os
from collections.abc import Sequence

from sqlalchemy import Connection

from chaos.unsafe import Variant
from services.billing import bill_orders, wiring
from services.billing.settings import Settings
from shared import logs, metrics
from shared.applying import Outcome
from shared.consumer import Consumer
from shared.errors import PermanentError
from shared.inbox import DatabaseInbox, Delivery
from shared.lifecycle import stop_on_signals
from shared.receiving import Received
from shared.settings import read

VARIANT = Variant(
    name="billing_stops_at_poison",
    guard="parking-lot",
    replaces=("services.billing", "consumer"),
    scenario="poisoned_topic",
    must_fail=frozenset({"S00", "S12", "S15", "S23", "L02"}),
    may_fail=frozenset({"L04", "L05", "W01", "W04", "W05", "W08"}),
)


class StopsAtPoison(Consumer):
    """The reference loop without a lot: one that cannot be applied fails all that came with it, and the process."""

    def _apply(self, batch: list[Received]) -> Outcome:
        return self._in_one_transaction(self._insist, batch)

    def _insist(self, connection: Connection, batch: Sequence[Received]) -> Outcome:
        deliveries = []
        for received in batch:
            if not isinstance(received, Delivery):
                raise PermanentError(received.error)
            bill_orders.read(received)
            deliveries.append(received)
        fresh = DatabaseInbox(self._group).new(connection, deliveries)
        if fresh:
            bill_orders.apply(connection, fresh)
        return Outcome(tuple(fresh))


def main() -> None:
    settings = read(Settings, os.environ)
    logs.configure(settings.instance, settings.log_level)
    metrics.serve(settings.metrics_host, settings.metrics_port)
    consumer = StopsAtPoison(
        kafka=wiring.build_kafka_consumer(settings),
        engine=wiring.build_engine(settings, pool_size=1),
        inbox=DatabaseInbox(settings.consumer_group),
        handler=bill_orders.apply,
        group=settings.consumer_group,
        topics=[settings.orders_topic],
        batch_size=settings.batch_size,
    )
    consumer.run(stop_on_signals())


if __name__ == "__main__":
    main()
