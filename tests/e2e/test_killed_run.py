"""A run that is killed half-way."""

import subprocess
import sys

import psutil
import pytest

from chaos import housekeeping
from chaos.checker.result import Status
from chaos.checker.verdict import judge
from infra.local.home import PROJECT
from infra.local.stack import LocalStack
from tests.conftest import eventually

pytestmark = [pytest.mark.full, pytest.mark.timeout(300)]


def test_it_can_still_be_judged_and_leaves_no_orphans(stack: LocalStack) -> None:
    """SIGKILL in the middle of the load: the files are judged as no pass, and the next command ends what still runs."""
    command = [sys.executable, "-m", "infra.cli", "chaos", "run", "smoke", "--seconds", "60"]
    before = set(stack.home.runs.glob("smoke-*"))
    run = subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.DEVNULL)
    try:
        (folder,) = eventually(lambda: set(stack.home.runs.glob("smoke-*")) - before, 60, "the run has a folder")
        intents = folder / "evidence" / "intents.jsonl"
        eventually(lambda: intents.exists() and len(intents.read_bytes().splitlines()) > 100, 120, "orders are placed")
    finally:
        run.kill()
        run.wait()

    verdict = judge(folder / "evidence")
    assert verdict.status is not Status.PASS
    assert "S00" in verdict.unknown

    (deployment,) = [each for each in housekeeping.leftovers(stack) if each.namespace == folder.name]
    pids = [process.pid for process in deployment.processes() if process.pid]
    assert pids
    housekeeping.stop_leftovers(stack)
    assert not any(psutil.pid_exists(pid) for pid in pids)
    housekeeping.destroy_leftovers(stack)
