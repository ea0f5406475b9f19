"""Variants of services with one guard taken out. See README.md here. Never part of a deployment outside a chaos run."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


class UnknownVariantError(LookupError):
    """Nobody took out a guard of this name."""


def _nothing() -> Mapping[str, tuple[str, ...]]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """What to run instead of what, in which scenario it has to go red, and by which invariants.

    ``before_start``: database → statements that take away second guards (a UNIQUE, say) which would hide the first.
    They run on the databases of the variant's own run.
    """

    name: str
    guard: str
    replaces: tuple[str, ...]
    scenario: str
    must_fail: frozenset[str]
    may_fail: frozenset[str]
    before_start: Mapping[str, tuple[str, ...]] = field(default_factory=_nothing)
    not_applicable: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


BY_GUARD: Mapping[str, str] = MappingProxyType(
    {
        "inbox": "billing_without_inbox",
        "offset-after-effect": "consumer_commits_offset_before_effect",
    }
)
"""The word after ``--without``, and the variant."""


def load(name: str) -> Variant:
    """Return a variant by its name or by the guard that it lacks. Raises UnknownVariantError naming all of them."""
    wanted = BY_GUARD.get(name, name)
    if wanted not in BY_GUARD.values():
        raise UnknownVariantError(f"No guard is called {name!r}. There are: {', '.join(BY_GUARD)}.")
    found = importlib.import_module(f"{__name__}.{wanted}").VARIANT
    assert isinstance(found, Variant)
    return found
