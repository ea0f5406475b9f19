"""Kafka and Redis cannot write any more, and end."""

from gettext import gettext as _

from chaos.faults.server import DiskFull, Server
from chaos.scenario import Act, Expectation, Scenario, Workload

SCENARIO = Scenario(
    name="kafka_disk_full",
    title=_("No room for Kafka and Redis"),
    teaches=_(
        "A full disk at the broker is the broker trouble of everybody and the fault of no event: no attempt is "
        "counted, nothing is set aside, the outbox grows. With room again, the backlog drains by itself."
    ),
    guard="broker trouble uses up no attempts",
    workload=Workload(seconds=10.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.3,
            title=_("No room"),
            story=_("No file of Kafka may grow until it gives up; then the same for Redis."),
            faults=(
                DiskFull(name="kafka-disk-full", server=Server.KAFKA),
                DiskFull(name="redis-disk-full", server=Server.REDIS),
            ),
        ),
    ),
    expect=Expectation(flags={"overlap": True}),
)
