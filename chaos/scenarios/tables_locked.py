"""A table is locked by a careless migration, and a pool runs dry behind it."""

from gettext import gettext as _

from chaos.faults.session import TableLocked
from chaos.scenario import Act, Expectation, Scenario, Workload

SCENARIO = Scenario(
    name="tables_locked",
    title=_("A migration locks a table, the pool runs dry"),
    teaches=_(
        "Every connection of the pool ends up waiting for the same lock, and requests that have nothing to do "
        "with it wait for a connection. The API waits for a bounded time and then says 503: a customer who is "
        "told to come again is better off than one who hears nothing."
    ),
    guard="bounded waits, and 503 instead of silence",
    workload=Workload(seconds=10.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.3,
            title=_("Locked"),
            story=_("The table of idempotency keys is locked for five seconds, then the outbox of billing for four."),
            faults=(
                TableLocked(
                    name="keys-locked-pool-exhausted",
                    database="orders",
                    table="idempotency_key",
                    seconds=5.0,
                    waiters=8,
                ),
                TableLocked(name="outbox-locked", database="billing", table="outbox", seconds=4.0),
            ),
        ),
    ),
    expect=Expectation(flags={"overlap": True}),
)
