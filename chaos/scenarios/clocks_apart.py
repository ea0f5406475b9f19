"""The clocks of some processes are hours away from the database and from each other."""

from gettext import gettext as _

from chaos.faults.clock import ClocksApart
from chaos.scenario import Act, Expectation, Scenario, Workload

SCENARIO = Scenario(
    name="clocks_apart",
    title=_("Clocks that are hours apart"),
    teaches=_(
        "Nothing here is ordered by the time of day. Order comes from an aggregate's version, leases compare the "
        "database's clock with itself, and an invoice's number from a locked row. A wrong clock makes wrong time "
        "stamps in logs and payloads, and nothing else."
    ),
    guard="no order by wall clocks",
    workload=Workload(seconds=10.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.3,
            title=_("Hours apart"),
            story=_("The API that takes the orders lives two hours ahead, and whoever writes the mails two behind."),
            faults=(
                ClocksApart(name="clocks-ahead", targets=("orders-api",), shift="+2h", shift_seconds=7200.0),
                ClocksApart(name="clocks-behind", targets=("notifications-1",), shift="-2h", shift_seconds=-7200.0),
            ),
        ),
    ),
    expect=Expectation(flags={"overlap": True, "progress": True}),
)
