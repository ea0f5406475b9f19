"""Every answer of PostgreSQL and Kafka is late: nothing is broken, and nothing is quick."""

from gettext import gettext as _

from chaos.faults.link import BrokenLink
from chaos.faults.server import Server
from chaos.proxy import Weather
from chaos.scenario import Act, Expectation, Scenario, Workload

SCENARIO = Scenario(
    name="network_slow",
    title=_("The network is slow"),
    teaches=_(
        "Slowness does more harm than death, since nobody is told. Nothing here measures its own speed: leases "
        "are renewed by their own clock, batches are as large as what has come meanwhile, and a consumer that is "
        "slow keeps its partitions."
    ),
    guard="batches that grow with the backlog; leases renewed apart from the work",
    workload=Workload(seconds=10.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.3,
            title=_("Slow"),
            story=_(
                "For eight seconds every packet between some processes and PostgreSQL and Kafka takes 60 ms longer."
            ),
            faults=(
                BrokenLink(
                    name="postgres-slow",
                    server=Server.POSTGRES,
                    targets=("orders-api", "billing-1", "relay-orders-1"),
                    weather=Weather.SLOW,
                    delay_seconds=0.06,
                    seconds=4.0,
                ),
                BrokenLink(
                    name="kafka-slow",
                    server=Server.KAFKA,
                    targets=("billing-1", "relay-orders-1", "relay-billing-1"),
                    weather=Weather.SLOW,
                    delay_seconds=0.06,
                    seconds=4.0,
                ),
            ),
        ),
    ),
    expect=Expectation(flags={"overlap": True, "progress": True}),
)
