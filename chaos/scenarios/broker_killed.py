"""One of three brokers is killed under load."""

from gettext import gettext as _

from chaos.faults.server import KillServer, Server
from chaos.scenario import Act, Expectation, Scenario, Workload
from infra.local.profile import Profile

SCENARIO = Scenario(
    name="broker_killed",
    title=_("One of three brokers is killed"),
    teaches=_(
        "A write counts once two of three brokers have it. So when one dies, nothing is lost with it: for its "
        "partitions another copy takes the lead within seconds, and producers and consumers find it by themselves."
    ),
    guard="three copies, and a write that counts with two",
    profile=Profile.CLUSTER,
    workload=Workload(seconds=12.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.3,
            title=_("A broker is killed"),
            story=_("SIGKILL in the middle of the load; the others take over, and it comes back and catches up."),
            faults=(KillServer(name="broker-killed", server=Server.KAFKA_2),),
        ),
    ),
    expect=Expectation(flags={"overlap": True}),
)
