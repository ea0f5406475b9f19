"""A relay hangs between the log and its note of it, past its lease, and wakes up."""

from gettext import gettext as _

from chaos.faults.failpoint import AtFailpoint
from chaos.scenario import Act, Expectation, Scenario, Workload
from shared.failpoints import Failpoint

SCENARIO = Scenario(
    name="relay_hangs_after_publish",
    title=_("A relay hangs with a published chunk"),
    teaches=_(
        "The log has the chunk, the database does not know it, and the lease runs out. The successor publishes "
        "the chunk again. Then the first one wakes up and tries to settle under its old epoch: refused, so that a "
        "position never goes back."
    ),
    guard="an epoch that every settle checks",
    workload=Workload(seconds=10.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.3,
            title=_("Hanging"),
            story=_("Each first relay hangs right after it has published, for eight seconds."),
            faults=(
                AtFailpoint(
                    name="relays-hang-after-publish",
                    targets=("relay-orders-1", "relay-billing-1"),
                    point=Failpoint.RELAY_AFTER_PUBLISH_BEFORE_SETTLE,
                    action="stop",
                    goes_on_after_seconds=8.0,
                ),
            ),
        ),
    ),
    expect=Expectation(flags={"duplicates": ["log"], "overlap": True, "progress": True}),
)
