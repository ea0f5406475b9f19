"""The primary dies for good, and the standby that every commit waited for takes its place."""

from gettext import gettext as _

from chaos.faults.standby import PromoteStandby
from chaos.scenario import Act, Expectation, Scenario, Workload
from infra.local.profile import Profile

SCENARIO = Scenario(
    name="standby_promoted",
    title=_("A standby is promoted"),
    teaches=_(
        "Each commit was answered only once the standby had it on disk, so the standby has everything that anybody "
        "was told. Services find it by themselves; relays see a new timeline, read their positions again, and send "
        "a little twice, which every inbox knows."
    ),
    guard="commits wait for the standby; positions are read again",
    profile=Profile.CLUSTER,
    workload=Workload(seconds=12.0, rate_per_second=25.0),
    acts=(
        Act(
            at=0.3,
            title=_("Failover"),
            story=_("The primary is killed and kept down, and the standby is promoted under load."),
            faults=(PromoteStandby(name="standby-promoted"),),
        ),
    ),
    expect=Expectation(flags={"overlap": True}),
)
