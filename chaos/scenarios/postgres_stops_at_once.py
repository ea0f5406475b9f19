"""PostgreSQL is told to stop at once: sessions end, no checkpoint is written."""

import signal
from gettext import gettext as _

from chaos.faults.server import KillServer, Server
from chaos.scenario import Act, Expectation, Scenario, Workload

SCENARIO = Scenario(
    name="postgres_stops_at_once",
    title=_("PostgreSQL stops at once"),
    teaches=_(
        "An immediate stop is a crash with words. What was committed is in the write-ahead log and comes back; "
        "what was not committed never was. Positions, inbox rows and effects come back together, because they "
        "were written together."
    ),
    guard="effect, inbox row and position in one database",
    workload=Workload(seconds=10.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.3,
            title=_("Immediate"),
            story=_("SIGQUIT for the server in the middle of the load; its supervisor starts it again."),
            faults=(KillServer(name="postgres-stopped-at-once", server=Server.POSTGRES, number=signal.SIGQUIT),),
        ),
    ),
    expect=Expectation(flags={"overlap": True}),
)
