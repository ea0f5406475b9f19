"""Runs side by side: each has a home of its own, all are called off together, and none outlives who began it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from infra.cli import abreast
from infra.local.home import Home
from infra.local.stack import LocalStack
from tests.conftest import ROOT, eventually


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONCE_HOME", str(tmp_path))
    monkeypatch.setenv("STACK", "local")


def meet(folder: Path, count: int = 2) -> Path:
    """Wait until so many have come here, each from a home of its own. Returns this one's."""
    home = Home.from_environment(os.environ).root
    (folder / home.name).touch()
    eventually(lambda: len(list(folder.iterdir())) >= count, describe="another stack at work meanwhile")
    return home


def wait_to_be_called_off(folder: Path) -> None:
    if Home.from_environment(os.environ).root.name == "2":
        meet(folder)
        raise ValueError("this one broke")
    try:
        meet(folder)
        time.sleep(60)
    except KeyboardInterrupt:
        (folder / "called-off").touch()
        raise


def start_servers(folder: Path) -> None:
    home = meet(folder)
    if home.name == "2":
        LocalStack.open().servers_up()


def sleep(folder: Path) -> None:
    meet(folder)
    time.sleep(60)


def test_each_run_has_a_stack_of_its_own(tmp_path: Path) -> None:
    (folder := tmp_path / "met").mkdir()
    homes = list(abreast.each(meet, [folder] * 5, 2))
    assert len(homes) == 5
    assert set(homes) == {tmp_path, tmp_path / "stacks" / "2"}


def test_the_servers_of_further_stacks_are_down_again(tmp_path: Path) -> None:
    (folder := tmp_path / "met").mkdir()
    list(abreast.each(start_servers, [folder] * 2, 2))
    further = LocalStack.open().further("2")
    assert further.home.servers.exists()
    assert not further.servers_running()


def test_one_stack_needs_no_further_process(tmp_path: Path) -> None:
    assert list(abreast.each(os.path.basename, ["a", "b"], 1)) == ["a", "b"]
    assert not (tmp_path / "stacks").exists()


def test_an_error_calls_the_other_runs_off(tmp_path: Path) -> None:
    (folder := tmp_path / "met").mkdir()
    with pytest.raises(ValueError, match="this one broke"):
        list(abreast.each(wait_to_be_called_off, [folder] * 4, 2))
    assert (folder / "called-off").exists()


def test_no_run_outlives_who_began_it(tmp_path: Path) -> None:
    (folder := tmp_path / "met").mkdir()
    program = (
        "import sys, pathlib; from infra.cli import abreast; from tests.integration.stack.test_abreast import sleep;"
        "list(abreast.each(sleep, [pathlib.Path(sys.argv[1])] * 2, 2))"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(folder)], cwd=ROOT) as parent:
        eventually(lambda: len(list(folder.iterdir())) == 2, deadline_seconds=60)
        runs = psutil.Process(parent.pid).children(recursive=True)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    assert len(runs) >= 2
    eventually(lambda: not any(run.is_running() for run in runs), deadline_seconds=30)
