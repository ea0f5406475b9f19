"""Whatever single process dies under load, the system recovers by itself: nothing lost, nothing doubled."""

import pytest

from chaos import scenarios
from chaos.checker.result import Status
from tests.e2e.conftest import RunScenario

pytestmark = [pytest.mark.full, pytest.mark.timeout(400)]


@pytest.mark.parametrize("name", [name for name in scenarios.names() if name != "three_acts"])
def test_scenario_gets_the_verdict_it_foretells(run_scenario: RunScenario, name: str) -> None:
    """Every scenario ends with the verdict written in it."""
    scenario = scenarios.load(name)
    if not scenario.available:
        pytest.skip("this machine has no means for one of its faults (`once chaos list` says which are local only)")
    verdict = run_scenario(name, seconds=scenario.workload.seconds, rate=scenario.workload.rate_per_second)
    assert verdict.status is Status(scenario.expect.verdict), verdict.broken + verdict.unknown
    found = scenario.judged(verdict)
    assert found.as_foretold, f"not seen broken: {found.not_seen}; broken or unknown unasked: {found.unforeseen}"
