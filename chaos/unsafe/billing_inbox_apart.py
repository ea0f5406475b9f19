"""Billing whose inbox commits by itself, before the effect.

Guard removed: one transaction for both. Scenario: ``consumer_killed_after_effect_before_commit``. Expected verdict:
FAIL, with S00 S12 S17 red: a member that dies between the two commits has said "done" of something that it never did,
and the redelivery is turned away as a duplicate. S11 holds: nothing is doubled.

The other way round (effect first, inbox after) doubles instead of losing. Two transactions cannot be put in an order
that is safe.
"""

import os

from chaos.unsafe import Variant
from services.billing import bill_orders, wiring
from services.billing.settings import Settings
from shared import database, logs, metrics
from shared.applying import Outcome
from shared.consumer import Consumer
from shared.failpoints import Failpoint, reach
from shared.inbox import DatabaseInbox, Delivery
from shared.lifecycle import stop_on_signals
from shared.receiving import Received
from shared.settings import read

VARIANT = Variant(
    name="billing_inbox_apart",
    guard="one-transaction",
    replaces=("services.billing", "consumer"),
    scenario="consumer_killed_after_effect_before_commit",
    must_fail=frozenset({"S00", "S12", "S17"}),
    may_fail=frozenset({"S10", "S15", "S18", "S19", "S20", "S23"}),
)


class InboxApart(Consumer):
    """The reference loop with a commit too many, and no lot, since nothing is poisoned here."""

    def _apply(self, batch: list[Received]) -> Outcome:
        deliveries = [received for received in batch if isinstance(received, Delivery)]
        with database.transaction(self._engine) as connection:
            fresh = DatabaseInbox(self._group).new(connection, deliveries)
        # "Done" is on record from here on ...
        with database.transaction(self._engine) as connection:
            if fresh:
                bill_orders.apply(connection, fresh)  # ... and a crash in here loses the effect for good.
            reach(Failpoint.CONSUMER_AFTER_EFFECT_BEFORE_COMMIT)
        return Outcome(tuple(fresh))


def main() -> None:
    settings = read(Settings, os.environ)
    logs.configure(settings.instance, settings.log_level)
    metrics.serve(settings.metrics_host, settings.metrics_port)
    consumer = InboxApart(
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
