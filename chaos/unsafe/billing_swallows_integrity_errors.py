"""Billing that takes every IntegrityError for a duplicate.

Guard removed: only the inbox's own statement decides what is a duplicate. Scenario: ``smoke``, with a foreign key that
some orders break (the run's billing database knows all currencies but one).
Expected verdict: FAIL, with S00 S12 S17 red: a batch with one broken order is taken for one that was done before. S11
holds: nothing is doubled.

"Catch the unique violation and go on" cannot tell a duplicate from a mistake, and undoes innocent neighbours with it.
"""

import os
from collections.abc import Sequence

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from chaos.unsafe import Variant
from services.billing import bill_orders, wiring
from services.billing.settings import Settings
from shared import logs, metrics
from shared.inbox import Delivery
from shared.lifecycle import stop_on_signals
from shared.logs import get_logger
from shared.settings import read

log = get_logger(__name__)

VARIANT = Variant(
    name="billing_swallows_integrity_errors",
    guard="inbox-decides",
    replaces=("services.billing", "consumer"),
    scenario="smoke",
    must_fail=frozenset({"S00", "S12", "S17"}),
    may_fail=frozenset({"S10", "S15", "S18", "S19", "S20", "S23", "W04"}),
    before_start={
        "billing": (
            "CREATE TABLE known_currency (code text PRIMARY KEY)",
            "INSERT INTO known_currency VALUES ('EUR'), ('USD'), ('GBP'), ('CHF'), ('SEK'), ('JPY')",
            "ALTER TABLE payment ADD FOREIGN KEY (currency) REFERENCES known_currency",
            "GRANT SELECT ON known_currency TO billing_consumer, billing_owner",
        )
    },
)


def apply(connection: Connection, batch: Sequence[Delivery]) -> None:
    """The reference handler; what the database refuses was surely here before."""
    try:
        with connection.begin_nested():
            bill_orders.apply(connection, batch)
    except IntegrityError as error:
        log.warning("taken for a duplicate", detail=type(error.orig).__name__)


def main() -> None:
    settings = read(Settings, os.environ)
    logs.configure(settings.instance, settings.log_level)
    metrics.serve(settings.metrics_host, settings.metrics_port)
    wiring.build(settings, handler=apply).run(stop_on_signals())


if __name__ == "__main__":
    main()
