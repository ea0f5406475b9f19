"""The groups of billing and orders are deleted, offsets and all."""

from gettext import gettext as _

from chaos.faults.replay import Replay
from chaos.scenario import Act, Expectation, Scenario, Twin, Workload

SCENARIO = Scenario(
    name="group_offsets_deleted",
    title=_("Offsets are deleted"),
    teaches=_(
        "A broker forgets a group that was away for too long, and an administrator can delete one. A reset policy "
        "would start at the end and skip, or at the beginning and double. Here a group without offsets starts at "
        "the beginning, by a line of code, and the inbox knows what is done."
    ),
    guard="inbox",
    workload=Workload(seconds=10.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.3,
            title=_("Deleted"),
            story=_(
                "The members of billing stop, their group is deleted, and they start again; then the same for orders."
            ),
            faults=(
                Replay(
                    name="billing-group-deleted",
                    group="billing",
                    deletes=True,
                ),
                Replay(
                    name="orders-group-deleted",
                    group="orders",
                    deletes=True,
                ),
            ),
        ),
    ),
    expect=Expectation(flags={"duplicates": ["deliveries"], "suppressed": True, "overlap": True}),
    twin=Twin(variant="billing_without_inbox"),
)
