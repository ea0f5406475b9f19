"""The alerts of the relays: each is there, each has words, and promtool, where it is installed, sees them fire."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[3] / "infra" / "prometheus"
RULES = (FOLDER / "alerts.yml").read_text(encoding="utf-8")

WANTED = (
    "outbox_oldest_pending_seconds",
    "outbox_events_pending) > 1000",
    "deriv(outbox_events_pending",
    "outbox_batch_duration_seconds_bucket[5m]))) > 5",
    "outbox_events_failed_total",
    "outbox_parked",
    "consumer_parked",
    "relay_breaker_state",
    "relay_lanes_owned",
    "relay_lease_takeovers_total",
)


@pytest.mark.parametrize("metric", WANTED)
def test_there_is_a_rule_for_it(metric: str) -> None:
    """What the relay measures and nobody looks at might as well not be measured."""
    assert metric in RULES


def test_every_rule_says_what_happened_and_where_to_look() -> None:
    """An alert is read by somebody who has just been woken."""
    rules = RULES.split("- alert: ")[1:]
    assert all("summary:" in rule and "description:" in rule and "severity:" in rule for rule in rules)


def test_the_rules_fire_when_they_should() -> None:
    """By the rules' own test file. PROMTOOL names the program when it is not on PATH."""
    promtool = os.environ.get("PROMTOOL") or shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed: it comes with Prometheus, and PROMTOOL may name it")
    run = subprocess.run([promtool, "test", "rules", "alerts_test.yml"], cwd=FOLDER, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
