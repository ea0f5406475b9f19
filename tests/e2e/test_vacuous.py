"""A run whose faults did not bite proves nothing, and says so."""

from dataclasses import dataclass, replace

import pytest

from chaos import scenarios
from chaos.checker.result import Answer, Status
from chaos.checker.verdict import judge
from chaos.faults import Quiet
from chaos.faults.failpoint import AtFailpoint
from chaos.run import perform
from chaos.scenario import Act
from chaos.stage import Stage
from chaos.watcher import Silent
from infra.local.stack import LocalStack
from shared.failpoints import Failpoint

pytestmark = [pytest.mark.full, pytest.mark.timeout(400)]

NEVER = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Impossible(Quiet):
    """A fault that this machine cannot do."""

    def inject(self, stage: Stage) -> None:
        raise OSError("no such thing here")


def test_a_fault_that_did_not_bite_makes_the_run_vacuous(stack: LocalStack) -> None:
    """One fault is never reached and one cannot be injected: all promises were kept, and W01 names both."""
    faults = (
        AtFailpoint(
            name="never-reached", targets=("relay-orders-1", "relay-orders-2"),
            point=Failpoint.RELAY_AFTER_PUBLISH_BEFORE_SETTLE, at_hit=NEVER, patience_seconds=1.0,
        ),
        Impossible(name="impossible"),
    )  # fmt: skip
    act = Act(at=0.3, title="Nothing", story="Nothing happens.", faults=faults)
    smoke = scenarios.load("smoke")
    workload = replace(smoke.workload, seconds=4.0, rate_per_second=25.0)

    finished = perform(replace(smoke, acts=(act,), workload=workload), watcher=Silent(), seed=7, stack=stack)
    verdict = judge(finished.evidence)

    assert verdict.status is Status.VACUOUS
    assert verdict.broken == ("W01",)
    (found,) = [result for result in verdict.results if result.answer is Answer.BROKEN]
    assert [example.what.split()[2] for example in found.counterexamples] == ["impossible", "never-reached"]
    assert any("no such thing here" in problem for problem in finished.problems)
