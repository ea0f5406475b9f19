"""Everything stands still for twenty seconds and goes on in random order."""

from gettext import gettext as _

from chaos.faults.everything import EverythingStands
from chaos.scenario import Act, Expectation, Scenario, Workload

SCENARIO = Scenario(
    name="everything_stands_still",
    title=_("The whole machine stands still"),
    teaches=_(
        "Leases, sessions and time-outs run out while everybody is frozen, and then all believe at once that it "
        "is still before. Nobody acts on what it remembers: an epoch, a group generation and an inbox row decide, "
        "and they are in one place each."
    ),
    guard="epochs and inbox rows instead of clocks",
    workload=Workload(seconds=8.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.3,
            title=_("Frozen"),
            story=_("Every process and every server is stopped for twenty seconds and continued in random order."),
            faults=(EverythingStands(name="everything-stands-still"),),
        ),
    ),
    expect=Expectation(flags={"overlap": True}),
)
