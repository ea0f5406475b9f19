"""Alternating rounds: every rival once per round, each round beginning with another one.

A machine that slows down half-way then slows all of them, and a ratio is always taken within one round.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

Rates = dict[str, list[float]]
"""Rival → its rate in each round."""


@dataclass(frozen=True, slots=True)
class Rival:
    """One way of doing it. ``measure`` does it once and returns its rate per second."""

    name: str
    measure: Callable[[], float]


@dataclass(frozen=True, slots=True)
class Spread:
    """The middle of several rounds with the least and the most."""

    middle: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        return cls(median(values), min(values), max(values))


def alternate(rivals: Sequence[Rival], rounds: int, tell: Callable[[str], None]) -> Rates:
    """Measure every rival once per round."""
    rates: Rates = {rival.name: [] for rival in rivals}
    for number in range(rounds):
        first = number % len(rivals)
        for rival in [*rivals[first:], *rivals[:first]]:
            rate = rival.measure()
            rates[rival.name].append(rate)
            tell(f"round {number + 1} of {rounds}: {rival.name}: {rate:,.1f}")
    return rates


def ratio(rates: Rates, rival: str, to: str) -> Spread:
    """Return how many times as fast a rival was as another, round by round."""
    return Spread.of([one / other for one, other in zip(rates[rival], rates[to], strict=True)])
