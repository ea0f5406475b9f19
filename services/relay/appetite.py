"""How many rows a relay takes at a time: few at first, twice as many after every full chunk, bounded in bytes.

Large chunks make a backlog drain faster, since each costs a wait for its last report. Their price is memory, which
depends on the payloads, and those are known only once they have been read.
"""

from collections.abc import Sequence
from typing import Final

from services.relay.position import Row

FIRST_ROWS: Final = 500
CHUNK_BYTES: Final = 8 * 2**20


class Appetite:
    def __init__(self, most_rows: int) -> None:
        self._most_rows = most_rows
        self.rows = min(FIRST_ROWS, most_rows)

    def had(self, rows: Sequence[Row]) -> None:
        """Learn from a chunk that was read."""
        size = sum(len(row.payload) for row in rows)
        if size > CHUNK_BYTES:
            self.rows = max(1, len(rows) * CHUNK_BYTES // size)
        elif len(rows) >= self.rows and 2 * size <= CHUNK_BYTES:
            self.rows = min(self._most_rows, 2 * self.rows)
