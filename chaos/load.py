"""Whoever places the orders of a run, and how far that has got."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(slots=True)
class Tally:
    """Counters for spectators; the judge counts for itself."""

    planned: int
    placed: int = 0
    cancelled: int = 0
    replayed: int = 0
    asked_again: int = 0
    first_order_id: str | None = None
    poisoned: list[str] = field(default_factory=list)
    """Orders that may be set aside by what the scenario does to such."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def share(self) -> float:
        return self.placed / self.planned


class Load(Protocol):
    """Whoever places the orders of a run and keeps the journal of it. Two exist: Customers, and Locust over HTTP."""

    tally: Tally

    def run(self, still_needed: Callable[[], bool]) -> None: ...

    def abandon(self) -> None: ...
