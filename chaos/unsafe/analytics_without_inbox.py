"""Analytics without its inbox.

Guard removed: the inbox of a read model. Scenario: ``replay_from_start``.
Expected verdict: FAIL, with S17 S19 red: the revenue report counts everything that was read again once more. S11 holds:
nobody is invoiced twice.

A sum has no second guard. No UNIQUE can tell that an invoice was added twice, and the report looks perfectly well.

    diff services/analytics/__main__.py chaos/unsafe/analytics_without_inbox.py
"""

import os
from collections.abc import Sequence

from sqlalchemy import Connection

from chaos.unsafe import Variant
from services.analytics import wiring
from services.analytics.settings import Settings
from shared import logs, metrics
from shared.inbox import Delivery
from shared.lifecycle import stop_on_signals
from shared.settings import read

VARIANT = Variant(
    name="analytics_without_inbox",
    guard="inbox-of-analytics",
    replaces=("services.analytics", "consumer"),
    scenario="replay_from_start",
    must_fail=frozenset({"S17", "S19"}),
    may_fail=frozenset({"S10", "S20", "S21"}),
)


class NoInbox:
    """Remembers nothing, so everything is new."""

    def new(self, connection: Connection, batch: Sequence[Delivery]) -> list[Delivery]:  # noqa: ARG002
        return list(batch)

    def forget(self, connection: Connection, deliveries: Sequence[Delivery]) -> None:
        """Nothing was remembered."""


def main() -> None:
    settings = read(Settings, os.environ)
    logs.configure(settings.instance, settings.log_level)
    metrics.serve(settings.metrics_host, settings.metrics_port)
    wiring.build(settings, inbox=NoInbox()).run(stop_on_signals())


if __name__ == "__main__":
    main()
