"""The databases answer and take nothing: what a client sees of a standby after a fail-over."""

from gettext import gettext as _

from chaos.faults.session import DatabaseSetting
from chaos.scenario import Act, Expectation, Scenario, Workload

SCENARIO = Scenario(
    name="database_read_only",
    title=_("Read only"),
    teaches=_(
        "After a fail-over some clients still reach the old server, which answers and writes nothing. That is an "
        "error of the place and not of the event: nothing may be set aside for it. Processes end or wait, and go "
        "on where the tables say that they were."
    ),
    guard="failures of the place are never failures of the event",
    workload=Workload(seconds=10.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.3,
            title=_("A standby"),
            story=_("For four seconds each, orders and then billing are read only."),
            faults=(
                DatabaseSetting(
                    name="orders-read-only",
                    database="orders",
                    setting="SET default_transaction_read_only = on",
                    undo="RESET default_transaction_read_only",
                    what="nothing can be written",
                ),
                DatabaseSetting(
                    name="billing-read-only",
                    database="billing",
                    setting="SET default_transaction_read_only = on",
                    undo="RESET default_transaction_read_only",
                    what="nothing can be written",
                ),
            ),
        ),
    ),
    expect=Expectation(flags={"overlap": True}),
)
