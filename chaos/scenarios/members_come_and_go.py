"""Consumer-group members join and leave every second or two."""

from gettext import gettext as _

from chaos.faults.members import MembersComeAndGo
from chaos.scenario import Act, Expectation, Scenario, Workload

SCENARIO = Scenario(
    name="members_come_and_go",
    title=_("Members come and go"),
    teaches=_(
        "Each join and each leave moves partitions to other members. A member finishes its batch and notes its offsets "
        "before it lets go, so that a clean change of hands needs no redelivery, and the inbox covers an unclean one."
    ),
    guard="inbox",
    workload=Workload(seconds=15.0, rate_per_second=40.0),
    acts=(
        Act(
            at=0.2,
            title=_("Joining and leaving"),
            story=_("Spare members of billing, analytics and orders join and leave, three times over."),
            faults=(
                MembersComeAndGo(
                    name="members-come-and-go",
                    members=("billing-3", "billing-4", "analytics-2", "orders-consumer-2"),
                    rounds=3,
                    stay_seconds=0.8,
                ),
            ),
        ),
    ),
    expect=Expectation(flags={"owner_change": ["billing", "analytics"], "overlap": True}),
)
