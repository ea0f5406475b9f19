"""The network between relays and consumers and Kafka is cut for a while: nobody is dead, nobody answers."""

from gettext import gettext as _

from chaos.faults.link import BrokenLink
from chaos.faults.server import Server
from chaos.proxy import Weather
from chaos.scenario import Act, Expectation, Scenario, Workload

SCENARIO = Scenario(
    name="kafka_out_of_reach",
    title=_("The network to Kafka is cut"),
    teaches=_(
        "A broker that does not answer is not a broker that refuses. The relay waits as long as its lease allows and "
        "then throws everything away that it had handed over, since a message that leaves late would overtake; the "
        "consumers are counted out of their group and come back. Orders are accepted all the while."
    ),
    guard="the relay's deadline inside its lease, and a purge behind it",
    workload=Workload(seconds=12.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.3,
            title=_("Silence"),
            story=_("For eight seconds nothing passes between Kafka and two relays and two consumers."),
            faults=(
                BrokenLink(
                    name="kafka-cut",
                    server=Server.KAFKA,
                    targets=("relay-orders-1", "relay-billing-1", "billing-1", "orders-consumer-1"),
                    weather=Weather.CUT,
                    seconds=8.0,
                ),
            ),
        ),
    ),
    expect=Expectation(flags={"overlap": True, "progress": True}),
)
