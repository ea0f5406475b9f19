"""The checklists: every line names a proof, and every proof that is named exists."""

import re

import pytest

from chaos import scenarios, unsafe
from infra.local.home import PROJECT

PAGE = PROJECT / "docs" / "checklist.md"
LINES = [line for line in PAGE.read_text().splitlines() if line.startswith("| ") and not line.startswith("| question")]
PROOF = re.compile(r"(test|scenario|guard) `([\w-]+)`")


def known(kind: str) -> set[str]:
    if kind == "scenario":
        return set(scenarios.names())
    if kind == "guard":
        return set(unsafe.guards())
    source = "\n".join(path.read_text() for path in (PROJECT / "tests").rglob("test_*.py"))
    return set(re.findall(r"^def (test_\w+)", source, re.MULTILINE))


@pytest.mark.parametrize("kind", ["test", "scenario", "guard"])
def test_every_proof_that_is_named_exists(kind: str) -> None:
    """A test that was renamed, or a scenario that is gone, is missed here."""
    named = {name for line in LINES for found, name in PROOF.findall(line) if found == kind}
    assert named
    assert named <= known(kind), named - known(kind)


@pytest.mark.parametrize("line", LINES)
def test_every_question_has_a_proof(line: str) -> None:
    """A line without one is a promise and does not belong here."""
    question, proof = line.strip("|").split("|")
    assert question.strip().endswith("?")
    assert PROOF.findall(proof)
