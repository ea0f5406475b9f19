"""Kafka stands still for a few seconds, goes on, and stands still again, while customers change their minds."""

from gettext import gettext as _

from chaos.faults.server import Server, StallServer
from chaos.scenario import Act, Expectation, Scenario, Workload

SCENARIO = Scenario(
    name="kafka_stutters",
    title=_("Kafka stutters"),
    teaches=_(
        "A short stall ends while a chunk is under way. A client that gives single messages up after a time-out drops "
        "the early ones of the chunk and delivers the late ones, so that a cancellation stands before its order. "
        "Here a chunk goes as a whole: acknowledged up to a row, and everything behind it thrown away and read again."
    ),
    guard="no message time-out; purge of everything at the deadline",
    workload=Workload(seconds=15.0, rate_per_second=30.0, share_cancelled_at_once=0.3),
    acts=(
        Act(
            at=0.3,
            title=_("Stuttering"),
            story=_("Five times the broker is stopped for three seconds and then has two to catch its breath."),
            faults=(StallServer(name="kafka-stutters", server=Server.KAFKA, seconds=3.0, rounds=5),),
        ),
    ),
    expect=Expectation(flags={"overlap": True, "pending_pairs": 3}),
)
