"""A relay is stopped in the middle of its work, for longer than its lease, and wakes up believing it still has it."""

from gettext import gettext as _

from chaos.faults.process import Pause
from chaos.scenario import Act, Expectation, Scenario, Workload

SCENARIO = Scenario(
    name="relay_stopped_past_its_lease",
    title=_("A relay sleeps past its lease"),
    teaches=_(
        "A stopped process does not know that time went by. Its lanes went to the other relay under a higher epoch; "
        "what it still publishes on waking is a duplicate, and what it tries to settle is refused by the epoch."
    ),
    guard="lease with an epoch that every settle checks",
    workload=Workload(seconds=15.0, rate_per_second=30.0, share_cancelled_later=0.25),
    acts=(
        Act(
            at=0.25,
            title=_("Asleep"),
            story=_("One relay of each database is stopped for eight seconds and goes on as if nothing had been."),
            faults=(Pause(name="relays-stopped", targets=("relay-orders-1", "relay-billing-1"), seconds=8.0),),
        ),
    ),
    expect=Expectation(flags={"overlap": True, "progress": True}),
)
