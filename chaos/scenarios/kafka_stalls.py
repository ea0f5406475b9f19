"""Kafka stands still for some seconds, twice, and does not die."""

from gettext import gettext as _

from chaos.faults.server import Server, StallServer
from chaos.scenario import Act, Expectation, Scenario, Workload

SCENARIO = Scenario(
    name="kafka_stalls",
    title=_("Kafka stands still"),
    teaches=_(
        "A broker that neither answers nor refuses is where messages overtake each other: one expires while a "
        "later one waits in the same queue and is delivered. Here no message has a time-out of its own. At the "
        "deadline everything is thrown away at once, and read again behind what is settled."
    ),
    guard="no message time-out; purge of everything at the deadline",
    workload=Workload(seconds=10.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.3,
            title=_("Stalled"),
            story=_("The broker is stopped for seven seconds and continued, then again for three."),
            faults=(
                StallServer(name="kafka-stalled", server=Server.KAFKA, seconds=7.0),
                StallServer(name="kafka-stalled-again", server=Server.KAFKA, seconds=3.0),
            ),
        ),
    ),
    expect=Expectation(flags={"overlap": True, "pending_pairs": 3}),
)
