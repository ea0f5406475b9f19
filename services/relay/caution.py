"""How carefully a position is worked on after relays died on it.

A row that kills the process leaves no error behind, and writing a mark before every row would cost a write an event. So
a position counts how often it was taken from a dead relay since it last moved. From the first time on every chunk is
settled at once; from the third on the chunk is halved each time, until the killer stands alone. Only then is a row
written down before it is tried, and when it has been tried alone three times without anybody coming back, it is parked.

Invariant: a row is blamed only when it was in hand alone, the receiver had just answered, and no result came, three
times. A relay that is killed from outside, idle or while its receiver is away, condemns nothing.
"""

from dataclasses import dataclass, replace
from typing import Final, Self

PATIENCE: Final = 2
"""So many deaths in a row are taken for bad luck."""
LONE_TRIES: Final = 3


@dataclass(frozen=True, slots=True)
class Caution:
    """What a position remembers of relays that died on it."""

    stalls: int = 0
    suspect_id: int | None = None
    suspect_tries: int = 0

    def chunk_size(self, full: int) -> int:
        return max(1, full >> min(64, max(0, self.stalls - PATIENCE)))

    def is_alone(self, full: int) -> bool:
        return self.stalls > PATIENCE and self.chunk_size(full) == 1

    def condemns(self, row_id: int) -> bool:
        return self.suspect_id == row_id and self.suspect_tries >= LONE_TRIES

    def trying(self, row_id: int) -> Self:
        """Return what is to be written before this row is tried alone."""
        tries = self.suspect_tries if self.suspect_id == row_id else 0
        return replace(self, suspect_id=row_id, suspect_tries=tries + 1)

    def relieved(self) -> Self:
        """Return what remains when a result came back: the row in hand kills nobody."""
        return replace(self, suspect_id=None, suspect_tries=0)


CALM: Final = Caution()


@dataclass(slots=True)
class Care:
    """In how large chunks one position is worked on, and for how long still. In memory, forgotten with the lease."""

    caution: Caution = CALM
    left: int = 0
    """Rows that are still handled with caution."""
    suspects: int = 0
    """Rows that failed together and are now tried one at a time."""
    refusals: int = 0
    """How often the receiver has refused the row in front."""

    @classmethod
    def of(cls, caution: Caution, rows: int) -> Self:
        """Begin with what the table says, for as many rows as a relay may have had in hand when it died."""
        return cls(caution, left=rows if caution != CALM else 0)

    def chunk_size(self, full: int) -> int:
        return 1 if self.suspects else self.caution.chunk_size(full)

    def moved(self, count: int) -> None:
        """So many rows are dealt with."""
        self.refusals = 0
        self.suspects = max(0, self.suspects - count)
        self.left = max(0, self.left - count)
        self.caution = self.caution.relieved() if self.left else CALM

    def rested(self) -> None:
        """There was nothing to do, and nobody died of it."""
        self.caution, self.left, self.suspects = CALM, 0, 0
