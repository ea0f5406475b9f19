"""PostgreSQL is killed under load (SIGKILL) and recovers by itself."""

from gettext import gettext as _

from chaos.faults.server import KillServer, Server
from chaos.scenario import Act, Expectation, Scenario, Workload

SCENARIO = Scenario(
    name="postgres_killed",
    title=_("PostgreSQL is killed"),
    teaches=_(
        "A commit whose answer got lost may have happened or not: clients ask again with the same key, relays "
        "read their position from the table again, consumers hold their batch and try again."
    ),
    guard="retries without losing the position",
    workload=Workload(seconds=10.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.3,
            title=_("PostgreSQL is killed"),
            story=_("SIGKILL in the middle of the load; its supervisor starts it again."),
            faults=(KillServer(name="postgres-killed", server=Server.POSTGRES),),
        ),
    ),
    expect=Expectation(flags={"overlap": True}),
)
