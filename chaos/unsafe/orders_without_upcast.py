"""A consumer of orders that reads today's shape of each event, and no older one.

Guard removed: the upcasters of ``shared.events``. Scenario: ``old_producer_new_consumer``. Expected verdict: FAIL, with
S25 red (events are set aside that nobody spoilt), and S00 and S23, since declined orders never come to their end. S11
holds: nothing is doubled.

Nothing is lost, and no redrive helps: no later release of this reader knows what was written before it.
"""

import os
from typing import Any

import msgspec

from chaos.unsafe import Variant
from services.orders.settings import ConsumerSettings
from services.orders.wiring import build_consumer
from shared import events, logs, metrics
from shared.lifecycle import stop_on_signals
from shared.settings import read

VARIANT = Variant(
    name="orders_without_upcast",
    guard="upcast",
    replaces=("services.orders", "consumer"),
    scenario="old_producer_new_consumer",
    must_fail=frozenset({"S00", "S23", "S25"}),
    may_fail=frozenset({"L02", "L05", "S10", "S17"}),
)


def forget_older_shapes() -> None:
    """Leave each type the one reader of today's shape."""
    readers = {
        name: dict.fromkeys((None, events.dataschema(name)), msgspec.json.Decoder(kind).decode)
        for name, kind in events.PAYLOADS.items()
    }
    module: dict[str, Any] = vars(events)
    module["_READERS"] = readers


def main() -> None:
    forget_older_shapes()
    settings = read(ConsumerSettings, os.environ)
    logs.configure(settings.instance, settings.log_level)
    metrics.serve(settings.metrics_host, settings.metrics_port)
    build_consumer(settings).run(stop_on_signals())


if __name__ == "__main__":
    main()
