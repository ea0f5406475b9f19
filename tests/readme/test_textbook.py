"""docs/from-the-textbook.md: every mechanism says what is here, and names a proof that exists."""

import re

import pytest

from infra.local.home import PROJECT
from tests.readme.proofs import KINDS, known, named

PAGE = (PROJECT / "docs" / "from-the-textbook.md").read_text(encoding="utf-8")
_, *PARTS = re.split(r"^###? (?=.)", PAGE, flags=re.MULTILINE)
MECHANISMS = {part.splitlines()[0]: part for part in PARTS if len(part.strip().splitlines()) > 1}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_mechanism_names_its_proof(mechanism: str) -> None:
    """A part without one would be an opinion. Seen red with a `Shown by` taken out."""
    part = MECHANISMS[mechanism]
    assert "*Here:*" in part or "| here |" in part
    _, said, proofs = part.rpartition("Shown by:")
    assert said, part
    assert named(proofs), part


@pytest.mark.parametrize("kind", KINDS)
def test_every_proof_of_a_mechanism_exists(kind: str) -> None:
    """A test that was renamed, or a guard that is gone, is missed here."""
    found = {name for each, name in named(PAGE) if each == kind}
    assert found
    assert found <= known(kind), found - known(kind)
