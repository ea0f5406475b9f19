"""Most orders fall into one partition, and members die while it lags."""

from gettext import gettext as _

from chaos.faults.process import Kill
from chaos.faults.skew import HotKeys
from chaos.scenario import Act, Expectation, Scenario, Workload

SCENARIO = Scenario(
    name="hot_key",
    title=_("A hot key"),
    teaches=_(
        "The key keeps an order's events together, and it also says that one member has to do them all. When most "
        "work falls into one partition, more members do not help: one lags and the others are idle. Nothing goes "
        "wrong by it, and nothing else waits for it."
    ),
    guard="order by key; lag by partition is visible",
    workload=Workload(seconds=10.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.3,
            title=_("One partition for all"),
            story=_("Seven of ten orders fall into one partition, and its member is killed while it works on it."),
            faults=(
                HotKeys(name="hot-key", target="orders-api", topic="orders.events", share=0.7),
                Kill(name="member-of-hot-partition-killed", targets=("billing-1", "billing-2")),
            ),
        ),
    ),
    expect=Expectation(flags={"overlap": True, "progress": True}),
)
