"""Members of groups with the older group protocol die at every point between two steps."""

from gettext import gettext as _

from chaos.faults.failpoint import AtFailpoint
from chaos.scenario import CLASSIC_GROUPS, Act, Expectation, Scenario, Workload
from shared.failpoints import Failpoint

MEMBERS = ("billing-1", "analytics-1", "orders-consumer-1")

SCENARIO = Scenario(
    name="consumers_killed_classic",
    title=_("Consumers killed at every step, the older protocol"),
    teaches=_(
        "A member dies with a batch in hand, with its effect written and not committed, and with its effect durable "
        "but not its offset. With the classic protocol the group waits six seconds for it, then all members agree "
        "anew. What comes again is new in the first two cases, and known in the third: the inbox row tells them apart."
    ),
    guard="inbox",
    workload=Workload(seconds=20.0, rate_per_second=25.0),
    acts=(
        Act(
            at=0.25,
            title=_("Dead at every step"),
            story=_("Billing, analytics and orders each lose a member at one point after the other."),
            faults=tuple(
                AtFailpoint(name=f"classic-members-killed-{where}", targets=MEMBERS, point=point, patience_seconds=40.0)
                for where, point in (
                    ("before-their-transaction", Failpoint.CONSUMER_AFTER_POLL_BEFORE_TRANSACTION),
                    ("before-their-commit", Failpoint.CONSUMER_AFTER_EFFECT_BEFORE_COMMIT),
                    ("before-their-offset", Failpoint.CONSUMER_AFTER_COMMIT_BEFORE_OFFSET),
                )
            ),
        ),
    ),
    expect=Expectation(flags={"duplicates": ["deliveries"], "suppressed": True, "overlap": True}),
    environment=CLASSIC_GROUPS,
)
