"""Analytics' read model is wrong; it is built again from the first event on while orders keep coming."""

from gettext import gettext as _

from chaos.faults.rebuild import Rebuild
from chaos.scenario import Act, Expectation, Scenario, Workload

SCENARIO = Scenario(
    name="analytics_rebuilt_under_load",
    title=_("The read model is built again under load"),
    teaches=_(
        "A read model is nothing but what its log says, so a wrong one is thrown away and read again. Beside the live "
        "one, behind an inbox of its own: and the moment to switch is when it has all that the live one had "
        "committed, on every partition. Anything less is a hole that nobody sees."
    ),
    guard="offsets of the live group",
    workload=Workload(seconds=12.0, rate_per_second=25.0),
    acts=(
        Act(
            at=0.4,
            title=_("Built again"),
            story=_(
                "Sums are spoiled; a second version reads the topics from the start and takes the first one's place."
            ),
            faults=(Rebuild(name="analytics-rebuilt"),),
        ),
    ),
    expect=Expectation(flags={"overlap": True}),
)
