"""The second mutation score, in its short form: whatever mutmut makes of some of the rules is noticed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[3]


@pytest.mark.full
@pytest.mark.timeout(900)
@pytest.mark.parametrize("module", ["log", "generations", "vacuity"])
def test_changed_rules_are_noticed(module: str) -> None:
    """Every mutant of a module is killed or has a reason in equivalent.toml; `make mutants` asks all modules."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.mutants", module], cwd=PROJECT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr
