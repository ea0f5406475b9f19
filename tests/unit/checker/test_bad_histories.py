"""Each rule finds its violations, and rules that have nothing to do with one stay quiet."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos.checker.registry import INVARIANTS
from chaos.checker.verdict import judge
from chaos.specimens import every_shape
from tests.unit.checker.bad import BAD, Bad


@pytest.mark.parametrize("case", BAD, ids=lambda case: f"{case.rule}: {case.title}")
def test_a_violation_is_found_by_its_rule_and_by_no_unrelated_one(tmp_path: Path, case: Bad) -> None:
    """Every corruption of a good history is found by the rule that it breaks, and accuses no rule beside the named."""
    history = every_shape()
    case.spoil(history)
    broken = set(judge(history.write(tmp_path), canaries=False).broken)

    assert case.rule in broken
    assert broken <= {case.rule} | case.also


def test_every_rule_has_a_bad_history() -> None:
    """No rule is in the table of invariants without a hand-written history that breaks it."""
    assert {invariant.id for invariant in INVARIANTS} == {case.rule for case in BAD}
