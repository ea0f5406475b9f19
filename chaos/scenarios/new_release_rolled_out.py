"""Every process ends in good order and starts again, one after the other, under load."""

from gettext import gettext as _

from chaos.faults.deploy import RollingRestart
from chaos.scenario import Act, Expectation, Scenario, Workload
from chaos.scenarios.services_killed import SERVICES

ALONE = ("orders-consumer-1", "analytics-1")

SCENARIO = Scenario(
    name="new_release_rolled_out",
    title=_("A new release is rolled out"),
    teaches=_(
        "On SIGTERM a process finishes the unit of work in hand, hands back its lanes or partitions and ends; who is "
        "alone in its group gets a sibling for that time, and a web server's workers serve until the new ones can. So "
        "a release costs no duplicates worth speaking of, no refused customer, no 5xx and no wait above five seconds, "
        "although the system would survive all of them."
    ),
    guard="work in hand is finished on SIGTERM; somebody else is at work before a process ends",
    workload=Workload(seconds=10.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.2,
            title=_("Rolled out"),
            story=_("Every process is renewed, one after the other, readers before writers."),
            faults=(RollingRestart(name="new-release", targets=SERVICES, alone=ALONE),),
        ),
    ),
    expect=Expectation(
        flags={"overlap": True, "progress": True, "longest_wait_seconds": 5, "longest_answer_seconds": 5}
    ),
)
