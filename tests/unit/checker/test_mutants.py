"""The second mutation score, in its short form: what mutmut makes of some of the rules is noticed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[3]


@pytest.mark.full
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("module", "share"), [("log", 0.92), ("orders", 0.94), ("generations", 0.94)])
def test_changed_rules_are_noticed(module: str, share: float) -> None:
    """No fewer mutants of a module are killed than were; the others are printed by `make mutants`, to be looked at."""
    said = subprocess.run(
        [sys.executable, "-m", "tests.mutants", module], cwd=PROJECT, capture_output=True, text=True, check=False
    ).stdout
    score = re.search(r"mutants of the rules killed: (\d+) of (\d+)", said)

    assert score is not None
    killed, made = map(int, score.groups())
    assert made > 0
    assert killed / made >= share, said
