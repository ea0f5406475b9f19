"""Billing without its inbox.

Guard removed: the inbox, the row that says "this event has had its effect" in the effect's own transaction.
Scenario: ``three_acts`` (also ``relay_killed_after_publish``, ``replay_from_start``).
Expected verdict: FAIL, with S00 S11 S15 S17 S18 red: one order has several invoices, the sums are too high, and the
customer gets several e-mails. S10, S20 and S21 cannot be judged, because provenance stood on the inbox row. S01 to S06
hold.

What else differs: the run's billing database has no UNIQUE on orders and on aggregate versions. That second guard would
turn a second invoice into an error and stop billing. It would not help an effect that has no natural key: a sum, a
counter, an e-mail.

    diff services/billing/__main__.py chaos/unsafe/billing_without_inbox.py
"""

import os
from collections.abc import Sequence

from sqlalchemy import Connection

from chaos.unsafe import Variant, _second_guards
from services.billing import wiring
from services.billing.settings import Settings
from shared import logs, metrics
from shared.inbox import Delivery
from shared.lifecycle import stop_on_signals
from shared.settings import read

VARIANT = Variant(
    name="billing_without_inbox",
    guard="inbox",
    replaces=("services.billing", "consumer"),
    scenario="three_acts",
    must_fail=frozenset({"S00", "S11", "S15", "S17", "S18"}),
    may_fail=frozenset({"S09", "S10", "S12", "S14", "S16", "S19", "S20", "S21", "S23", "W02", "W03"}),
    before_start={"billing": _second_guards.BILLING},
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
