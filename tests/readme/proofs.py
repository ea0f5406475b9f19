"""What a page may name as proof: a test, a scenario, or a guard that can be taken out."""

import re

from chaos import scenarios, unsafe
from infra.local.home import PROJECT

KINDS = ("test", "scenario", "guard")
_PROOF = re.compile(r"(test|scenario|guard) `([\w-]+)`")


def named(text: str) -> set[tuple[str, str]]:
    """Return the proofs that a text names, as (kind, name)."""
    return set(_PROOF.findall(text))


def known(kind: str) -> set[str]:
    """Return all that there are of a kind."""
    if kind == "scenario":
        return set(scenarios.names())
    if kind == "guard":
        return set(unsafe.guards())
    source = "\n".join(path.read_text(encoding="utf-8") for path in (PROJECT / "tests").rglob("test_*.py"))
    return set(re.findall(r"^def (test_\w+)", source, re.MULTILINE))
