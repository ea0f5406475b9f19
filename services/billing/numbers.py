"""Gapless numbers: INV-2026-000001, INV-2026-000002, ... and a series of their own for credit notes (CRN).

Invariant: within a series and year the committed numbers are 1, 2, 3, ... without a hole and without a double. A
database sequence cannot keep that: it never gives a number back, so each roll-back and each crash leaves a hole. A
counter row can: drawing locks it until the transaction ends, and a roll-back puts the number back.

The price is that transactions which draw from one series commit one after the other. So it is drawn *last*, once for
the whole batch, and by everybody in the order of the series' names.

One clock decides the year and the date on the document: the database's ``now()``, read in UTC. It is the start of the
transaction, so two neighbouring numbers may carry times that are in the wrong order by the length of a transaction.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

CREDIT_NOTES: Final = "CRN"
INVOICES: Final = "INV"


@dataclass(frozen=True, slots=True)
class Number:
    """A number of a document, with the time at which it was issued."""

    series: str
    year: int
    sequence: int
    issued_at: datetime

    def __str__(self) -> str:
        return f"{self.series}-{self.year}-{self.sequence:06d}"


# One statement, so there is nothing between reading the counter and raising it; the row stays locked until the end of
# the caller's transaction. The first number of a year is drawn by the INSERT arm, and UNIQUE settles a race for it.
_DRAW: Final = """
INSERT INTO number_series AS counter (series, year, next_sequence)
VALUES (%(series)s, extract(year FROM now() AT TIME ZONE 'UTC'), 1 + %(count)s)
ON CONFLICT (series, year) DO UPDATE SET next_sequence = counter.next_sequence + %(count)s
RETURNING year, next_sequence - %(count)s AS first, now() AS issued_at
"""


def draw(connection: Connection, series: str, count: int) -> list[Number]:
    """Draw the next ``count`` numbers of a series and hold the series until the caller's transaction ends."""
    if count == 0:
        return []
    drawn = connection.exec_driver_sql(_DRAW, {"series": series, "count": count}).one()
    return [Number(series, drawn.year, drawn.first + place, drawn.issued_at) for place in range(count)]
