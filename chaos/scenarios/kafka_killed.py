"""Kafka is killed under load (SIGKILL) and recovers by itself."""

from gettext import gettext as _

from chaos.faults.server import KillServer, Server
from chaos.scenario import Act, Expectation, Scenario, Workload

SCENARIO = Scenario(
    name="kafka_killed",
    title=_("Kafka is killed"),
    teaches=_(
        "With the broker away nothing is lost, because nothing was promised to it: the outbox grows, no "
        "attempt is counted, nothing is parked, and the backlog drains by itself once the broker is back."
    ),
    guard="retries without losing the position",
    workload=Workload(seconds=10.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.3,
            title=_("Kafka is killed"),
            story=_("SIGKILL in the middle of the load; its supervisor starts it again."),
            faults=(KillServer(name="kafka-killed", server=Server.KAFKA),),
        ),
    ),
    expect=Expectation(flags={"overlap": True}),
)
