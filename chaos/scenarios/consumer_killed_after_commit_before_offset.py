"""A member of every group dies after its effect is durable and before its offset is."""

from gettext import gettext as _

from chaos.faults.failpoint import AtFailpoint
from chaos.scenario import Act, Expectation, Scenario, Workload
from shared.failpoints import Failpoint

SCENARIO = Scenario(
    name="consumer_killed_after_commit_before_offset",
    title=_("Consumers killed between commit and offset"),
    teaches=_(
        "The effect is in the database, the offset is not in Kafka. The batch comes again, to another member or "
        "another life of the same one; the inbox row, committed with the effect, says that there is nothing left to do."
    ),
    guard="inbox",
    workload=Workload(seconds=12.0, rate_per_second=40.0),
    acts=(
        Act(
            at=0.25,
            title=_("Dead before the offset"),
            story=_("Billing, analytics and orders each lose a member right after its commit, three times."),
            faults=(
                AtFailpoint(
                    name="consumers-killed-after-commit",
                    targets=("billing-1", "analytics-1", "orders-consumer-1"),
                    point=Failpoint.CONSUMER_AFTER_COMMIT_BEFORE_OFFSET,
                    rounds=3,
                    patience_seconds=10.0,
                ),
            ),
        ),
    ),
    expect=Expectation(flags={"duplicates": ["deliveries"], "suppressed": True, "overlap": True}),
)
