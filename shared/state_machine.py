"""The life of an aggregate as data: its states, what moves it from one to the next, and what it tells then.

A service's use cases ask this data what to do, and the page docs/saga.md is drawn from it, so there is no second copy
that could say something else. What can arrive and rightly changes nothing is listed too, each with its reason: of what
is in neither list nobody has thought yet.

Not promised: that a row is locked. A step is only as good as the state that it was asked with.
"""

from collections.abc import Iterator
from dataclasses import dataclass

State = str | None
"""None: the aggregate is not there yet."""


@dataclass(frozen=True, slots=True)
class Transition:
    state: State
    on: str
    """A type of event, or a request by its words."""
    to: str
    tells: tuple[str, ...]
    """The types of the events and commands that are written with the new state."""
    given: str | None = None
    """What was decided about it, where that matters."""


@dataclass(frozen=True, slots=True)
class Stay:
    """Something that may come in this state and changes nothing."""

    state: State
    on: str
    because: str


@dataclass(frozen=True, slots=True)
class Machine:
    """Raises ValueError for a table that answers one question twice."""

    aggregate: str
    transitions: tuple[Transition, ...]
    stays: tuple[Stay, ...]

    def __post_init__(self) -> None:
        questions = [(t.state, t.on, t.given) for t in self.transitions] + [(s.state, s.on, None) for s in self.stays]
        if len(set(questions)) < len(questions):
            raise ValueError(f"the states of {self.aggregate} answer one question twice: {questions}")

    @property
    def states(self) -> tuple[str, ...]:
        """Every state, in the order in which the transitions lead there."""
        return tuple(dict.fromkeys(transition.to for transition in self.transitions))

    def step(self, state: State, on: str, given: str | None = None) -> Transition | None:
        """Return what happens, or None when nothing does."""
        asked = (state, on, given)
        return next((t for t in self.transitions if (t.state, t.on, t.given) == asked), None)

    def moved_by(self, on: str) -> tuple[State, ...]:
        """Return the states that something leads out of."""
        return tuple(dict.fromkeys(transition.state for transition in self._on(on)))

    def target(self, on: str) -> str:
        """Return the one state that something leads to, wherever it comes from. Raises ValueError for several."""
        (state,) = {transition.to for transition in self._on(on)}
        return state

    def _on(self, on: str) -> Iterator[Transition]:
        return (transition for transition in self.transitions if transition.on == on)
