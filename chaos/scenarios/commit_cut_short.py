"""Sessions are ended by the server while they are inside COMMIT."""

from gettext import gettext as _

from chaos.faults.session import LateCommits
from chaos.scenario import Act, Expectation, Scenario, Workload

SCENARIO = Scenario(
    name="commit_cut_short",
    title=_("Cut off in COMMIT"),
    teaches=_(
        "The server ends a session in the middle of its COMMIT, and rolls back. The client cannot tell this from "
        "a commit whose answer was lost, so it must not guess either way: it asks again with the same key, and "
        "gets a new order or the old one, whichever is true."
    ),
    guard="idempotency key in the transaction of the order",
    workload=Workload(seconds=10.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.3,
            title=_("Cut off"),
            story=_("Whoever hangs in COMMIT is ended there by the server, in both databases."),
            faults=(
                LateCommits(name="orders-ended-in-commit", database="orders", seconds=5.0, terminated=True),
                LateCommits(name="billing-ended-in-commit", database="billing", seconds=5.0, terminated=True),
            ),
        ),
    ),
    expect=Expectation(flags={"overlap": True}),
)
