"""The guard-off matrix in its short form: without a guard the judge says which promise broke, and no other."""

import pytest

from chaos import matrix, scenarios, unsafe
from tests.e2e.conftest import RunScenario

pytestmark = [pytest.mark.full, pytest.mark.timeout(400)]


IN_THE_DEFAULT_SUITE = "billing_without_inbox"
"""See test_acts.py."""


@pytest.mark.parametrize("name", [name for name in matrix.TELLING if name != IN_THE_DEFAULT_SUITE])
def test_a_missing_guard_is_noticed_by_the_rules_that_were_foretold(run_scenario: RunScenario, name: str) -> None:
    """Every rule is where the variant's three sets put it."""
    variant = unsafe.load(name)
    workload = scenarios.load(variant.scenario).workload
    verdict = run_scenario(
        variant.scenario, seconds=workload.seconds, rate=workload.rate_per_second, without=variant.guard
    )
    found = matrix.row(variant, verdict).found
    assert found.as_foretold, f"not seen broken: {found.not_seen}; broken or unknown unasked: {found.unforeseen}"
