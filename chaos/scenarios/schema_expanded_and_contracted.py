"""The table of orders gets another shape while orders keep coming, beside a transaction that reads for long."""

from gettext import gettext as _

from chaos.faults.schema import ExpandAndContract
from chaos.scenario import Act, Expectation, Scenario, Workload

SCENARIO = Scenario(
    name="schema_expanded_and_contracted",
    title=_("A migration under load"),
    teaches=_(
        "Add what is new, let the database write both, fill in small steps, check without a lock, and take away the "
        "old only when nobody reads it: no step is wrong for the release before or the one after. And a migration "
        "that does not get its lock at once steps out of the queue, since everybody else stands behind it."
    ),
    guard="expand and contract; locks are asked for with patience",
    workload=Workload(seconds=12.0, rate_per_second=25.0),
    acts=(
        Act(
            at=0.3,
            title=_("Expanded, filled, contracted"),
            story=_("A column comes, is filled, constrained and indexed, and goes, while somebody reads the table."),
            faults=(ExpandAndContract(name="schema-changed"),),
        ),
    ),
    expect=Expectation(
        flags={"overlap": True, "progress": True, "longest_wait_seconds": 5, "longest_answer_seconds": 5}
    ),
)
