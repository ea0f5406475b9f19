"""Members of groups with the older group protocol join and leave every few seconds, for a minute."""

from gettext import gettext as _

from chaos.faults.failpoint import AtFailpoint
from chaos.faults.members import MembersComeAndGo
from chaos.scenario import CLASSIC_GROUPS, Act, Expectation, Scenario, Workload
from shared.failpoints import Failpoint

SCENARIO = Scenario(
    name="members_churn_classic",
    title=_("A crowd that comes and goes, the older protocol"),
    teaches=_(
        "With the classic protocol every join and every leave is a round in which all members take part, and "
        "partitions move more often than with the newer one. The promise is the same: it rests on the inbox and "
        "not on the broker being right about who owns what."
    ),
    guard="inbox",
    workload=Workload(seconds=60.0, rate_per_second=15.0),
    acts=(
        Act(
            at=0.2,
            title=_("Coming and going"),
            story=_(
                "A relay that dies puts copies into the log. Then spare members of billing and analytics join and "
                "leave, every few seconds and for a minute."
            ),
            faults=(
                AtFailpoint(
                    name="relays-repeat-themselves-to-classic-groups",
                    targets=("relay-orders-1", "relay-orders-2"),
                    point=Failpoint.RELAY_AFTER_PUBLISH_BEFORE_SETTLE,
                    patience_seconds=5.0,
                ),
                MembersComeAndGo(
                    name="members-churn-classic",
                    members=("billing-3", "billing-4", "analytics-2"),
                    rounds=5,
                    stay_seconds=3.0,
                ),
            ),
        ),
    ),
    expect=Expectation(
        flags={
            "owner_change": ["billing"],
            "duplicates": ["log"],
            "suppressed": True,
            "overlap": True,
            "progress": True,
        }
    ),
    environment=CLASSIC_GROUPS,
)
