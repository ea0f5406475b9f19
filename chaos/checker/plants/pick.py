"""Take something to spoil, or say that there is none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from chaos.checker.finding import CannotPlant

T = TypeVar("T")

NOBODY = "00000000-0000-4000-8000-00000000dead"
NOTHING = "00000000-0000-4000-8000-0000000000ff"
LONG_AGO = "1970-01-01T00:00:00.000000+00:00"
SOON_AFTER = "1970-01-01T00:00:01.000000+00:00"


def pick(rows: Iterable[T], what: str) -> T:
    """Return the first row. Raises CannotPlant."""
    for row in rows:
        return row
    raise CannotPlant(f"this run has no {what}")


def instead(rows: Iterable[T], old: T, new: T) -> list[T]:
    return [new if row is old else row for row in rows]
