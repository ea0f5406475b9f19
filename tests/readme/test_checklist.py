"""The checklists: every line names a proof, and every proof that is named exists."""

import pytest

from infra.local.home import PROJECT
from tests.readme.proofs import KINDS, known, named

PAGE = PROJECT / "docs" / "checklist.md"
LINES = [line for line in PAGE.read_text().splitlines() if line.startswith("| ") and not line.startswith("| question")]


@pytest.mark.parametrize("kind", KINDS)
def test_every_proof_that_is_named_exists(kind: str) -> None:
    """A test that was renamed, or a scenario that is gone, is missed here."""
    found = {name for each, name in named("\n".join(LINES)) if each == kind}
    assert found
    assert found <= known(kind), found - known(kind)


@pytest.mark.parametrize("line", LINES)
def test_every_question_has_a_proof(line: str) -> None:
    """A line without one is a promise and does not belong here."""
    question, proof = line.strip("|").split("|")
    assert question.strip().endswith("?")
    assert named(proof)
