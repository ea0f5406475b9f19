"""A consumer that notes its offset before it does its work ("at most once", and what auto-commit amounts to).

Guard removed: the order of two steps. The offset belongs after the commit of the effect.
Scenario: ``consumer_killed_after_effect_before_commit``.
Expected verdict: FAIL, with S00 S12 S20 red: orders whose event was noted as read and whose effect rolled back with the
killed process have no invoice, and nobody will ever look at them again. S11 holds: nothing is doubled.

The inbox does not help here: it answers "was this done?", and nobody asks.
"""

import os
import time
from collections.abc import Callable

from confluent_kafka import TopicPartition

from chaos.unsafe import Variant
from services.billing import bill_orders, wiring
from services.billing.settings import Settings
from shared import logs, metrics
from shared.applying import Outcome
from shared.consumer import Consumer
from shared.inbox import DatabaseInbox
from shared.lifecycle import stop_on_signals
from shared.receiving import Received
from shared.settings import read

VARIANT = Variant(
    name="consumer_commits_offset_before_effect",
    guard="offset-after-effect",
    replaces=("services.billing", "consumer"),
    scenario="consumer_killed_after_effect_before_commit",
    must_fail=frozenset({"S00", "S12", "S20"}),
    may_fail=frozenset({"S01", "S17", "S18", "S19", "S23", "S15", "S10"}),
)


class OffsetFirst(Consumer):
    """The reference loop with two steps exchanged."""

    def _process(self, batch: list[Received], apply: Callable[[list[Received]], Outcome]) -> None:
        started = time.monotonic()
        behind = [TopicPartition(d.topic, d.partition, d.offset + 1) for d in batch]
        self._kafka.commit(offsets=behind, asynchronous=False)  # "read" is on record from here on ...
        outcome = apply(batch)  # ... and a crash in here loses the batch for good.
        self._count(batch, outcome, time.monotonic() - started)


def main() -> None:
    settings = read(Settings, os.environ)
    logs.configure(settings.instance, settings.log_level)
    metrics.serve(settings.metrics_host, settings.metrics_port)
    consumer = OffsetFirst(
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
