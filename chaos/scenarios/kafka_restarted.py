"""Kafka is restarted in good order, twice, as in an upgrade."""

from gettext import gettext as _

from chaos.faults.server import RestartServer, Server
from chaos.scenario import Act, Expectation, Scenario, Workload

SCENARIO = Scenario(
    name="kafka_restarted",
    title=_("Kafka is upgraded"),
    teaches=_(
        "A producer that is idempotent keeps its sequence over a reconnect: what it does not know to have arrived "
        "is sent again under the same number, and the broker tells the second one apart. Consumers find their "
        "group where they left it."
    ),
    guard="idempotent producers, offsets in the log",
    workload=Workload(seconds=10.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.3,
            title=_("Restarts"),
            story=_("Stopped in good order and started, twice."),
            faults=(RestartServer(name="kafka-restarted", server=Server.KAFKA, rounds=2),),
        ),
    ),
    expect=Expectation(flags={"overlap": True}),
)
