"""Two releases side by side, a table that changes its shape, and every process renewed: while orders keep coming."""

from dataclasses import replace

import pytest

from chaos import scenarios
from chaos.checker.verdict import Verdict, judge, to_text
from chaos.faults.schema import ExpandAndContract
from chaos.run import perform
from chaos.scenario import Scenario
from chaos.watcher import Silent
from infra.local.stack import LocalStack

pytestmark = [pytest.mark.full, pytest.mark.timeout(400)]

NAMES = (
    "old_producer_new_consumer",
    "new_producer_old_consumer",
    "schema_expanded_and_contracted",
    "new_release_rolled_out",
)


@pytest.mark.parametrize("name", NAMES)
def test_an_upgrade_loses_nothing_and_keeps_nobody_waiting(stack: LocalStack, name: str) -> None:
    """Judged by the checker from the evidence; where the scenario says so, nobody waits for more than five seconds.

    Red when a process that is alone in its group is renewed without a sibling, and when a constraint outlives the
    trigger that keeps it, which is a 500.
    """
    assert judged(stack, scenarios.load(name)).status == "PASS"


def test_a_migration_without_patience_keeps_everybody_waiting(stack: LocalStack) -> None:
    """The same migration, that stands in the queue for a table's lock until it has it: everybody stands behind it."""
    scenario = scenarios.load("schema_expanded_and_contracted")
    (act,) = scenario.acts
    impatient = replace(act, faults=(ExpandAndContract(name="schema-changed", patient=False),))
    verdict = judged(stack, replace(scenario, acts=(impatient,)))
    assert (verdict.status, verdict.broken) == ("FAIL", ("L04",))


def judged(stack: LocalStack, scenario: Scenario) -> Verdict:
    """Perform a scenario at half its load, which is enough to keep orders under way at all times."""
    workload = replace(scenario.workload, seconds=8.0, rate_per_second=15.0)
    finished = perform(replace(scenario, workload=workload), watcher=Silent(), seed=7, stack=stack)
    verdict = judge(finished.evidence)
    print(to_text(verdict), finished.problems)  # noqa: T201 - shown by pytest when the test fails
    return verdict
