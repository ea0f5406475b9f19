"""Whatever single process dies under load, the system recovers by itself: nothing lost, nothing doubled.

A dozen scenarios, one for each way to break things; with ``ALL_SCENARIOS=1`` all of them (half an hour), which
``once chaos run all`` does as well.
"""

import os

import pytest

from chaos import scenarios
from chaos.checker.result import Status
from tests.e2e.conftest import RunScenario

CHOSEN = (
    "clocks_apart",
    "commit_answer_lost",
    "consumer_killed_after_commit_before_offset",
    "kafka_killed",
    "kafka_stalls",
    "killed_between_steps",
    "late_commits",
    "mail_answers_lost",
    "members_come_and_go",
    "oversized_event",
    "postgres_killed",
    "redis_killed",
    "relay_killed_after_publish",
    "relay_stopped_past_its_lease",
)
NAMES = scenarios.names() if os.environ.get("ALL_SCENARIOS") else CHOSEN

pytestmark = [pytest.mark.full, pytest.mark.timeout(400)]


@pytest.mark.parametrize("name", NAMES)
def test_scenario_gets_the_verdict_it_foretells(run_scenario: RunScenario, name: str) -> None:
    """Every scenario ends with the verdict written in it."""
    scenario = scenarios.load(name)
    if not scenario.available:
        pytest.skip("this machine has no means for one of its faults (`once chaos list` says which are local only)")
    verdict = run_scenario(name, seconds=scenario.workload.seconds, rate=scenario.workload.rate_per_second)
    assert verdict.status is Status(scenario.expect.verdict), verdict.broken + verdict.unknown
    found = scenario.judged(verdict)
    assert found.as_foretold, f"not seen broken: {found.not_seen}; broken or unknown unasked: {found.unforeseen}"
