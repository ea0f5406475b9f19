"""Variants of services with one guard taken out. See README.md here. Never part of a deployment outside a chaos run.

Each module here has a ``VARIANT``, one row of the guard-off matrix, but for those whose name begins with an underscore:
they are what several variants share.
"""

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from chaos.foretold import Foretold


class UnknownVariantError(LookupError):
    """Nobody took out a guard of this name."""


def _nothing() -> Mapping[str, tuple[str, ...]]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """What to run instead of what, in which scenario it has to go red, and by which invariants.

    Invariant: every rule of the judge is in exactly one of the three sets (``chaos.foretold``). Two are enough, the
    third is the rest; strict by default, since the rest of one that names no ``must_hold`` must hold.

    ``before_start``: database → statements that take away second guards (a UNIQUE, say) which would hide the first.
    They run on the databases of the variant's own run. ``environment`` is laid over the replaced programs' own.
    """

    name: str
    guard: str
    """The word after ``--without``."""
    replaces: tuple[str, ...]
    """The last words of the command lines that it takes the place of."""
    scenario: str
    must_fail: frozenset[str]
    may_fail: frozenset[str] = frozenset()
    must_hold: frozenset[str] = frozenset()
    before_start: Mapping[str, tuple[str, ...]] = field(default_factory=_nothing)
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    not_applicable: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        whole = self.foretold.completed(self.name)
        object.__setattr__(self, "may_fail", whole.may_fail)
        object.__setattr__(self, "must_hold", whole.must_hold)

    @property
    def module(self) -> str:
        return f"chaos.unsafe.{self.name}"

    @property
    def option(self) -> tuple[str, str]:
        """What a command line says to have it."""
        return "--without", self.guard

    @property
    def foretold(self) -> Foretold:
        return Foretold(self.must_fail, self.may_fail, self.must_hold)


def names() -> list[str]:
    """All variants' names: the modules of this package that do not begin with an underscore."""
    return sorted(found.name for found in pkgutil.iter_modules(__path__) if not found.name.startswith("_"))


def hammered() -> list[str]:
    """Relays without a guard that no scenario misses for sure, but the hammer does (``tests/hammer``)."""
    return sorted(found.name for found in pkgutil.iter_modules(__path__) if found.name.startswith("_relay_"))


def guards() -> dict[str, str]:
    """The word after ``--without`` → the variant's name. Imports all of them."""
    return {_of(name).guard: name for name in names()}


def load(name: str) -> Variant:
    """Return a variant by its name or by the guard that it lacks. Raises UnknownVariantError naming all of them."""
    if name in names():
        return _of(name)
    known = guards()
    if name not in known:
        raise UnknownVariantError(f"No guard is called {name!r}. There are: {', '.join(sorted(known))}.")
    return _of(known[name])


def _of(name: str) -> Variant:
    found = importlib.import_module(f"{__name__}.{name}").VARIANT
    assert isinstance(found, Variant)
    return found
