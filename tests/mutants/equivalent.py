"""The mutants that do the same as the original, each with its reason: ``equivalent.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from tests.mutants.mutant import Mutant

FILE = Path(__file__).with_name("equivalent.toml")


def known() -> Mapping[Mutant, str]:
    """Return mutant → why nobody can notice it. Raises KeyError for an entry without a reason."""
    entries = tomllib.loads(FILE.read_text(encoding="utf-8"))["equivalent"]
    return {Mutant(entry["where"], entry["change"].strip()): entry["because"] for entry in entries}
