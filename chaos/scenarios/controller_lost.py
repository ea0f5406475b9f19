"""The broker that leads the controllers is killed under load."""

from gettext import gettext as _

from chaos.faults.brokers import LoseController
from chaos.scenario import Act, Expectation, Scenario, Workload
from infra.local.profile import Profile

SCENARIO = Scenario(
    name="controller_lost",
    title=_("The active controller is lost"),
    teaches=_(
        "The controllers keep one log among them of who leads what. When their leader dies, nobody can be made leader "
        "of a partition until they have elected another one; what it had decided, the majority knows."
    ),
    guard="a majority of three controllers",
    profile=Profile.CLUSTER,
    workload=Workload(seconds=12.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.3,
            title=_("The controller is lost"),
            story=_("Whoever leads the controllers at this moment is killed, twice."),
            faults=(
                LoseController(name="controller-lost"),
                LoseController(name="next-controller-lost"),
            ),
        ),
    ),
    expect=Expectation(flags={"overlap": True}),
)
