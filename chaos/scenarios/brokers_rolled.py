"""All three brokers are restarted, one after the other, under load."""

from gettext import gettext as _

from chaos.faults.server import RestartServer, Server
from chaos.scenario import Act, Expectation, Scenario, Workload
from infra.local.profile import Profile

SCENARIO = Scenario(
    name="brokers_rolled",
    title=_("All brokers are restarted in turn"),
    teaches=_(
        "An upgrade stops each broker once. Only one may be away at a time, so the next one goes when the copies of "
        "the last are in step again; meanwhile two are enough to write, and nobody outside notices more than a delay."
    ),
    guard="the next broker goes only when all copies are in step",
    profile=Profile.CLUSTER,
    workload=Workload(seconds=15.0, rate_per_second=25.0),
    acts=(
        Act(
            at=0.2,
            title=_("An upgrade"),
            story=_("Each broker is stopped in good order and started again, and is waited for."),
            faults=(
                RestartServer(name="first-broker-restarted", server=Server.KAFKA),
                RestartServer(name="second-broker-restarted", server=Server.KAFKA_2),
                RestartServer(name="third-broker-restarted", server=Server.KAFKA_3),
            ),
        ),
    ),
    expect=Expectation(flags={"overlap": True}),
)
