"""How fast something went, from marks of how far it was when.

The first and the last fifth are left out: starting up, connecting and running dry say nothing about the rate.
"""

from bisect import bisect_left
from collections.abc import Sequence

Mark = tuple[float, int]
"""Seconds by one clock, and how many were done by then."""

LEFT_OUT = 0.2
"""This share at either end."""


def middle_rate(marks: Sequence[Mark]) -> float:
    """Return the rate per second over the middle 60 %. Raises ValueError when there is no such stretch."""
    if not marks or marks[-1][1] == 0:
        raise ValueError("Nothing was done, so there is no rate.")
    done = marks[-1][1]
    begun, ended = (_reached(marks, done * share) for share in (LEFT_OUT, 1 - LEFT_OUT))
    if ended[0] <= begun[0]:
        raise ValueError(f"All {done} were done at once; measure more of them.")
    return (ended[1] - begun[1]) / (ended[0] - begun[0])


def _reached(marks: Sequence[Mark], count: float) -> Mark:
    return marks[bisect_left(marks, count, key=lambda mark: mark[1])]
