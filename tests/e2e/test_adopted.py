"""The order service as somebody else has built it, killed and replayed as ours is, and judged by the same judge.

That the judge sees an order of which nobody was told is shown by ``orders_publish_after_commit`` in the matrix.
"""

import pytest

from chaos import scenarios
from chaos.adopted import ORDERS
from chaos.checker.result import Status
from tests.adopt.frameworks import needs
from tests.e2e.conftest import RunScenario

pytestmark = [pytest.mark.full, pytest.mark.timeout(400)]

FRAMEWORKS = [pytest.param(name, marks=needs(name)) for name in ORDERS]


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("name", ["killed_between_steps", "replay_from_start"])
def test_an_example_keeps_every_promise(run_scenario: RunScenario, name: str, framework: str) -> None:
    """Every rule of the judge holds: nothing was taken out, only written in another framework."""
    workload = scenarios.load(name).workload
    verdict = run_scenario(name, seconds=workload.seconds, rate=workload.rate_per_second, orders=framework)
    assert verdict.status is Status.PASS, verdict.broken + verdict.unknown
