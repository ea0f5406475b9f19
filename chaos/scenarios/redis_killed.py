"""Redis is killed under load (SIGKILL) and recovers by itself."""

from gettext import gettext as _

from chaos.faults.server import KillServer, Server
from chaos.scenario import Act, Expectation, Scenario, Workload

SCENARIO = Scenario(
    name="redis_killed",
    title=_("Redis is killed"),
    teaches=_(
        "E-mail commands wait in the outbox while the queue is away and events go on to Kafka meanwhile: each "
        "destination has a position of its own. What the queue had accepted it wrote to its append-only file."
    ),
    guard="retries without losing the position",
    workload=Workload(seconds=10.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.3,
            title=_("Redis is killed"),
            story=_("SIGKILL in the middle of the load; its supervisor starts it again."),
            faults=(KillServer(name="redis-killed", server=Server.REDIS),),
        ),
    ),
    expect=Expectation(flags={"overlap": True}),
)
