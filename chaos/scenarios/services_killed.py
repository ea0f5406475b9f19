"""Every process of the system is killed once, one after the other, under load."""

from gettext import gettext as _

from chaos.faults.process import Kill
from chaos.scenario import Act, Expectation, Scenario, Workload

SERVICES = (
    "orders-api",
    "orders-consumer-1",
    "relay-orders-1",
    "relay-orders-2",
    "billing-1",
    "billing-2",
    "billing-api",
    "relay-billing-1",
    "relay-billing-2",
    "analytics-1",
    "analytics-api",
    "notifications-1",
    "mail-sink",
    "billing-housekeeper-1",
)

SCENARIO = Scenario(
    name="services_killed",
    title=_("Each service is killed once"),
    teaches=_(
        "No process holds anything that is not also in a database or in the log. Whichever one dies, in whichever "
        "state, its successor reads where things stand and goes on."
    ),
    guard="state lives in databases and the log only",
    workload=Workload(seconds=20.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.2,
            title=_("One after the other"),
            story=_("SIGKILL for every process of the system, one every second."),
            faults=tuple(Kill(name=f"{service}-killed", targets=(service,), pause_seconds=0.7) for service in SERVICES),
        ),
    ),
    expect=Expectation(flags={"overlap": True}),
)
