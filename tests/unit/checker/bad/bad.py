"""A corruption of a good history, with the rule that must find it and the rules that may see it too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from chaos.specimens import History

Spoil = Callable[[History], None]


@dataclass(frozen=True)
class Bad:
    rule: str
    title: str
    spoil: Spoil
    also: frozenset[str] = field(default_factory=frozenset)


BAD: list[Bad] = []


def bad(rule: str, *also: str) -> Callable[[Spoil], Spoil]:
    """Register a corruption; its docstring names it."""

    def register(spoil: Spoil) -> Spoil:
        BAD.append(Bad(rule, str(spoil.__doc__), spoil, frozenset(also)))
        return spoil

    return register
