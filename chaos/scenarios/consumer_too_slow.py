"""A batch takes longer than the group waits for its member."""

from gettext import gettext as _

from chaos.faults.failpoint import AtFailpoint
from chaos.scenario import Act, Expectation, Scenario, Workload
from shared.failpoints import Failpoint

SCENARIO = Scenario(
    name="consumer_too_slow",
    title=_("A member that works for too long"),
    teaches=_(
        "A member that is busy for longer than the group allows is counted out while it works, and its partitions "
        "go to another, who does the same work. Then the first one finishes. The inbox lets one of the two "
        "commit; whoever comes second finds that it was done."
    ),
    guard="inbox; partitions may be lost, effects may not",
    workload=Workload(seconds=24.0, rate_per_second=15.0),
    acts=(
        Act(
            at=0.3,
            title=_("Too slow"),
            story=_("A member hangs in its transaction for fourteen seconds; the group waits for six."),
            faults=(
                AtFailpoint(
                    name="member-too-slow",
                    targets=("billing-1", "analytics-1"),
                    point=Failpoint.CONSUMER_AFTER_POLL_BEFORE_TRANSACTION,
                    action="sleep:14",
                    rounds=1,
                ),
            ),
        ),
    ),
    expect=Expectation(flags={"duplicates": ["deliveries"], "suppressed": True, "overlap": True, "progress": True}),
    environment={name: {"MAX_POLL_INTERVAL_SECONDS": "6"} for name in ("billing-1", "billing-2", "analytics-1")},
)
