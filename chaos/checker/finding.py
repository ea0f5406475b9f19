"""What an invariant says: a counterexample, or that it cannot be asked of this run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chaos.checker.evidence import Evidence


@dataclass(frozen=True, slots=True)
class Counterexample:
    """One violation in words, and where to look it up: the order and the event that the story is told about."""

    what: str
    order_id: str | None = None
    event_id: str | None = None


class NotApplicable(Exception):
    """The invariant does not apply to this run; the text says why. Not a pass, and not a failure."""


class Family(StrEnum):
    SAFETY = "safety"
    LIVENESS = "liveness"
    VACUITY = "vacuity"


Check = Callable[["Evidence"], Iterator[Counterexample]]
Plant = Callable[["Evidence"], "Evidence"]


@dataclass(frozen=True, slots=True)
class Invariant:
    """A rule that every run has to keep.

    `check` yields a counterexample for each violation; `plant` returns the evidence with one violation put in, and
    raises CannotPlant when the evidence has nothing to spoil.
    """

    id: str
    meaning: str
    family: Family
    check: Check
    plant: Plant
    claim: str | None = None
    """The key of `expect` by which a run claims this rule. Where it does not, what is found is a warning."""


class CannotPlant(Exception):
    """The evidence has nothing that this violation could be made of; the text says what is missing."""
