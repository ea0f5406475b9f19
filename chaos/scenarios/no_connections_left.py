"""The databases take no new connections."""

from gettext import gettext as _

from chaos.faults.session import DatabaseSetting
from chaos.scenario import Act, Expectation, Scenario, Workload

SCENARIO = Scenario(
    name="no_connections_left",
    title=_("No connections left"),
    teaches=_(
        "The server is well and has no room: every process that has lost its connection is told so, and asks "
        "again with growing pauses. Consumers keep their partitions meanwhile, since nobody else would do better "
        "with them."
    ),
    guard="back-off with jitter; batches held while the database is away",
    workload=Workload(seconds=10.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.3,
            title=_("Nobody may come in"),
            story=_("All sessions end, and for four seconds no new ones are let in: first orders, then billing."),
            faults=(
                DatabaseSetting(
                    name="orders-full",
                    database="orders",
                    setting="CONNECTION LIMIT 0",
                    undo="CONNECTION LIMIT -1",
                    what="no connection slot is left",
                ),
                DatabaseSetting(
                    name="billing-full",
                    database="billing",
                    setting="CONNECTION LIMIT 0",
                    undo="CONNECTION LIMIT -1",
                    what="no connection slot is left",
                ),
            ),
        ),
    ),
    expect=Expectation(flags={"overlap": True}),
)
