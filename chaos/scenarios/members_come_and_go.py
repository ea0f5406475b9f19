"""Consumer-group members join and leave every few seconds, for a minute."""

from gettext import gettext as _

from chaos.faults.failpoint import AtFailpoint
from chaos.faults.members import MembersComeAndGo
from chaos.scenario import Act, Expectation, Scenario, Workload
from shared.failpoints import Failpoint

SCENARIO = Scenario(
    name="members_come_and_go",
    title=_("Members come and go"),
    teaches=_(
        "Each join and each leave moves partitions to other members. A member finishes its batch and notes its offsets "
        "before it lets go, so that a clean change of hands needs no redelivery, and the inbox covers an unclean one."
    ),
    guard="inbox",
    workload=Workload(seconds=60.0, rate_per_second=15.0),
    acts=(
        Act(
            at=0.2,
            title=_("Joining and leaving"),
            story=_(
                "A relay that dies puts copies into the log. Then spare members of billing, analytics and orders join "
                "and leave, every few seconds and for a minute."
            ),
            faults=(
                AtFailpoint(
                    name="relays-repeat-themselves",
                    targets=("relay-orders-1", "relay-orders-2"),
                    point=Failpoint.RELAY_AFTER_PUBLISH_BEFORE_SETTLE,
                    patience_seconds=5.0,
                ),
                MembersComeAndGo(
                    name="members-come-and-go",
                    members=("billing-3", "billing-4", "analytics-2", "orders-consumer-2"),
                    rounds=5,
                    stay_seconds=3.0,
                ),
            ),
        ),
    ),
    expect=Expectation(
        flags={
            "owner_change": ["billing", "analytics"],
            "duplicates": ["log"],
            "suppressed": True,
            "overlap": True,
            "progress": True,
            "longest_wait_seconds": 5,
        }
    ),
)
