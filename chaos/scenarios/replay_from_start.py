"""Billing and analytics each read their topics from the beginning again, twice, under load."""

from gettext import gettext as _

from chaos.faults.replay import Replay
from chaos.scenario import Act, Expectation, Scenario, Twin, Workload

SCENARIO = Scenario(
    name="replay_from_start",
    title=_("Everything is read again from the start, twice"),
    teaches=_(
        "An offset says where reading goes on and nothing about what has been done. Set it back, and only the inbox "
        "knows what is done: a counter in a read model has no second guard that would save it."
    ),
    guard="inbox",
    workload=Workload(seconds=12.0, rate_per_second=40.0),
    acts=(
        Act(
            at=0.3,
            title=_("Back to the start"),
            story=_("Billing goes back to offset 0 twice, then analytics twice, while orders keep coming."),
            faults=(
                Replay(
                    name="billing-replayed-from-the-start",
                    group="billing",
                    rounds=2,
                ),
                Replay(
                    name="analytics-replayed-from-the-start",
                    group="analytics",
                    rounds=2,
                ),
            ),
        ),
    ),
    expect=Expectation(flags={"duplicates": ["deliveries"], "suppressed": True, "overlap": True}),
    twin=Twin(variant="billing_without_inbox"),
)
