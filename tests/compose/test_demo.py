"""The three acts on containers: green with the inbox, red without, with Docker alone and with the command."""

import re
import subprocess
import sys

import pytest

from tests.compose.conftest import ROOT, Project

VERDICT_FAIL = 1
DEMO = ("run", "--rm", "--no-TTY", "once", "demo", "--seconds", "10")


@pytest.fixture(scope="module")
def green(engine: None, system: Project) -> str:
    done = system.compose(*DEMO, timeout=500, check=False)
    assert done.returncode == 0, done.stdout[-6000:]
    return done.stdout


def test_the_three_acts_are_green(engine: None, green: str) -> None:
    """With nothing but Docker; the exit code is the verdict."""
    assert re.search(r"PASS\s+\d+ orders, \d+ invoices", green)
    assert all(title in green for title in ("1. The messenger dies", "2. The staff changes", "3. Time is turned back"))


def test_what_to_do_next_can_be_typed_as_it_stands(engine: None, system: Project, green: str) -> None:
    """The demo's suggestions name the way in that was used."""
    trace = re.search(r"docker compose run --rm once (trace \S+)", green)
    assert trace
    told = system.compose("run", "--rm", "--no-TTY", "once", *trace[1].split()).stdout
    assert "OrderPlaced" in told
    assert "INV-" in told


def test_a_run_leaves_no_container_behind(engine: None, system: Project, green: str) -> None:
    """Its databases stay for a trace; what ran has ended."""
    names = system.compose("ps", "--all", "--format", "{{.Name}}").stdout
    assert "three-acts" not in names


def test_they_are_red_without_the_inbox(engine: None, system: Project) -> None:
    """The same acts find double invoices, so green above means something."""
    done = system.compose(*DEMO, "--without", "inbox", timeout=500, check=False)
    assert done.returncode == VERDICT_FAIL, done.stdout[-6000:]
    assert re.search(r"FAIL", done.stdout)
    assert re.search(r"✗\s+S11", done.stdout)


def test_status_shows_every_process_of_the_stack(engine: None, system: Project) -> None:
    """The same picture as on the local stack."""
    told = system.compose("run", "--rm", "--no-TTY", "once", "status").stdout
    for name in ("postgres", "kafka", "redis", "orders-api", "relay-billing-2", "billing-2", "mail-sink"):
        assert re.search(rf"{name}\s+running", told), name


def test_the_command_hands_itself_over_to_the_containers(engine: None, system: Project) -> None:
    """``STACK=compose once status``, and so ``make demo STACK=compose``: the same words, the exit code passed on."""
    command = [sys.executable, "-m", "infra.cli"]
    environment = {**system.variables(), "STACK": "compose"}
    told = subprocess.run([*command, "status"], cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert re.search(r"billing-2\s+running", told.stdout)
    wrong = subprocess.run([*command, "chaos", "run", "no-such"], cwd=ROOT, env=environment, capture_output=True)
    assert wrong.returncode == 5
