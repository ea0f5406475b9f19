"""Members of groups with the older group protocol join and leave every three seconds."""

from gettext import gettext as _

from chaos.faults.members import MembersComeAndGo
from chaos.scenario import Act, Expectation, Scenario, Workload

SCENARIO = Scenario(
    name="members_churn_classic",
    title=_("A crowd that comes and goes, the older protocol"),
    teaches=_(
        "With the classic protocol every join and every leave is a round in which all members take part, and "
        "partitions move more often than with the newer one. The promise is the same: it rests on the inbox and "
        "not on the broker being right about who owns what."
    ),
    guard="inbox",
    workload=Workload(seconds=10.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.3,
            title=_("Coming and going"),
            story=_("Spare members of billing and analytics join and leave every three seconds."),
            faults=(
                MembersComeAndGo(
                    name="members-churn-classic",
                    members=("billing-3", "billing-4", "analytics-2"),
                    rounds=2,
                    stay_seconds=3.0,
                ),
            ),
        ),
    ),
    expect=Expectation(flags={"owner_change": ["billing"], "overlap": True, "progress": True}),
    environment={
        name: {"GROUP_PROTOCOL": "classic"}
        for name in (
            "billing-1",
            "billing-2",
            "billing-3",
            "billing-4",
            "analytics-1",
            "analytics-2",
            "orders-consumer-1",
        )
    },
)
