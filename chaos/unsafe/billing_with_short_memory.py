"""Billing with an inbox that forgets after two seconds.

Guard removed: a deduplication window as long as the longest replay. Scenario: ``replay_from_start``. Expected verdict:
FAIL, with S11 S17 red: what comes again within two seconds is recognised, what comes later is invoiced a second time.
S05 holds: the log has what it should have.

This is what a cache with a time to live amounts to. It passes every test in which the duplicate comes at once.
"""

import os
from collections.abc import Sequence

from sqlalchemy import Connection

from chaos.unsafe import Variant, _second_guards
from services.billing import wiring
from services.billing.settings import Settings
from shared import logs, metrics
from shared.inbox import DatabaseInbox, Delivery
from shared.lifecycle import stop_on_signals
from shared.settings import read

VARIANT = Variant(
    name="billing_with_short_memory",
    guard="long-memory",
    replaces=("services.billing", "consumer"),
    scenario="replay_from_start",
    must_fail=frozenset({"S00", "S11", "S15", "S17", "S18"}),
    may_fail=frozenset({"S09", "S10", "S12", "S14", "S16", "S19", "S20", "S21", "S23"}),
    before_start={"billing": (*_second_guards.BILLING, "GRANT DELETE ON inbox TO billing_consumer")},
)


class ForgetfulInbox(DatabaseInbox):
    """The reference inbox, emptied of everything that is older than two seconds whenever it is asked."""

    def new(self, connection: Connection, batch: Sequence[Delivery]) -> list[Delivery]:
        connection.exec_driver_sql("DELETE FROM inbox WHERE applied_at < clock_timestamp() - interval '2 s'")
        return super().new(connection, batch)


def main() -> None:
    settings = read(Settings, os.environ)
    logs.configure(settings.instance, settings.log_level)
    metrics.serve(settings.metrics_host, settings.metrics_port)
    wiring.build(settings, inbox=ForgetfulInbox(settings.consumer_group)).run(stop_on_signals())


if __name__ == "__main__":
    main()
