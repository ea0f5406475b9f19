"""Changes of a good history, and how each module of this package tells of its own.

A corruption makes it bad. What is odd only looks so: no rule may accuse anybody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from chaos.checker.finding import Counterexample
from chaos.specimens import Varied

Spoil = Callable[[Varied], str | None]


@dataclass(frozen=True)
class Corruption:
    rule: str
    title: str
    spoil: Spoil
    also: frozenset[str]
    names_event: bool = False
    """Whether what is found has to name an event besides the order, or instead of it."""

    def is_pointed_at(self, order_id: str | None, found: Iterable[Counterexample]) -> bool:
        """Say whether what the rule found leads a reader to what was spoiled."""
        has_event = self.names_event or (order_id is not None and self.rule in NAME_THEIR_EVENT)
        named = [one for one in found if order_id in (None, one.order_id)]
        return any(one.what and (one.event_id or not has_event) for one in named)


CORRUPTIONS: list[Corruption] = []

NAME_THEIR_EVENT = frozenset({"S05", "S06", "S07", "S08", "S09", "S10", "S12", "S20", "S21", "S22", "L01", "L05"})
"""Rules that speak of one event: where they name an order, they name the event too."""


def corruption(rule: str, *also: str, names_event: bool = False) -> Callable[[Spoil], Spoil]:
    def register(spoil: Spoil) -> Spoil:
        CORRUPTIONS.append(Corruption(rule, str(spoil.__doc__), spoil, frozenset(also), names_event))
        return spoil

    return register


@dataclass(frozen=True)
class Odd:
    title: str
    change: Callable[[Varied], None]
    unknown: frozenset[str]
    """Rules that cannot be asked: UNKNOWN."""


ODD: list[Odd] = []


def odd(change: Callable[[Varied], None]) -> Callable[[Varied], None]:
    ODD.append(Odd(str(change.__doc__), change, frozenset()))
    return change


def blinding(*rules: str) -> Callable[[Callable[[Varied], None]], Callable[[Varied], None]]:
    """Register a change after which these rules have nothing to look at, and break no other."""

    def register(change: Callable[[Varied], None]) -> Callable[[Varied], None]:
        ODD.append(Odd(str(change.__doc__), change, frozenset(rules)))
        return change

    return register
