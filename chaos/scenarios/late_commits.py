"""Some transactions commit seconds after later ones: their events appear behind the reader."""

from gettext import gettext as _

from chaos.faults.session import LateCommits
from chaos.scenario import Act, Expectation, Scenario, Workload

SCENARIO = Scenario(
    name="late_commits",
    title=_("Commits arrive late"),
    teaches=_(
        "Ids are drawn when a row is written and become visible when its transaction commits, so a reader that "
        "goes on behind the largest id it has seen loses every event that commits late. The relay asks which "
        "transactions a snapshot could see, never how far the numbers have come."
    ),
    guard="position as a snapshot of transactions",
    workload=Workload(seconds=10.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.3,
            title=_("Late"),
            story=_(
                "For eight seconds every order in some lanes hangs in its COMMIT for a second, while others "
                "overtake it."
            ),
            faults=(
                LateCommits(name="commits-late-orders", database="orders"),
                LateCommits(name="commits-late-billing", database="billing", seconds=4.0),
            ),
        ),
    ),
    expect=Expectation(flags={"overlap": True, "progress": True}),
)
