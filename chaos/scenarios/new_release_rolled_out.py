"""Every process ends in good order and starts again, one after the other, under load."""

from gettext import gettext as _

from chaos.faults.deploy import RollingRestart
from chaos.scenario import Act, Expectation, Scenario, Workload
from chaos.scenarios.services_killed import SERVICES

SCENARIO = Scenario(
    name="new_release_rolled_out",
    title=_("A new release is rolled out"),
    teaches=_(
        "On SIGTERM a process finishes the unit of work in hand, hands back its lanes or partitions and ends. So "
        "a release costs no duplicates worth speaking of and no standstill, although the system would survive "
        "both."
    ),
    guard="work in hand is finished on SIGTERM",
    workload=Workload(seconds=10.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.2,
            title=_("Rolled out"),
            story=_("SIGTERM and a fresh start for every process, one after the other."),
            faults=(RollingRestart(name="new-release", targets=SERVICES),),
        ),
    ),
    expect=Expectation(flags={"overlap": True, "progress": True}),
)
