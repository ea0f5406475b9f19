"""Two of three brokers are away: no write is accepted until one is back."""

from gettext import gettext as _

from chaos.faults.brokers import StopBrokers
from chaos.scenario import Act, Expectation, Scenario, Workload
from infra.local.profile import Profile

SCENARIO = Scenario(
    name="two_brokers_stopped",
    title=_("Two of three brokers are stopped"),
    teaches=_(
        "With one copy left, no write is accepted: a promise that one disk could break is not given. Orders are taken "
        "all the same, since they need the database alone; the outbox grows, no attempt is counted, nothing is "
        "parked, and all of it drains by itself once a second broker is back."
    ),
    guard="a write needs two copies; the outbox keeps what cannot be sent",
    profile=Profile.CLUSTER,
    workload=Workload(seconds=12.0, rate_per_second=25.0),
    acts=(
        Act(
            at=0.3,
            title=_("Two brokers away"),
            story=_("Two brokers are stopped, stay down for eight seconds, and are started again."),
            faults=(StopBrokers(name="two-brokers-stopped", servers=("kafka-2", "kafka-3"), seconds=8.0),),
        ),
    ),
    expect=Expectation(flags={"overlap": True}),
)
