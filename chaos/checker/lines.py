"""Read JSON lines fast: many lines to one call of the parser, a bounded piece of the file at a time.

A torn last line (no newline at its end) is skipped and counted. Any other unreadable line raises Unusable: nobody
knows what it said, so nothing that rests on this file can be judged.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from chaos.checker.fields import Column, Fields, Row

PIECE_BYTES = 1 << 16
"""What a processor keeps close at hand: larger pieces are read more slowly."""


class Unusable(Exception):
    """A piece of evidence is missing or damaged; what needs it is UNKNOWN. The text says which and why."""


class Lines:
    """The objects of one file, in pieces. `torn` counts torn last lines once the iteration has ended."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.torn = 0

    def pieces(self, fields: Fields) -> Iterator[list[Column]]:
        """Yield columns of some fields. Raises Unusable for a missing or damaged file, and what `Fields.of` raises."""
        if not self._path.exists():
            raise Unusable(f"{self._path.name} is missing")
        first = 1
        with self._path.open("rb") as file:
            while piece := file.read(PIECE_BYTES) + file.readline():
                whole = self._whole_lines(piece)
                count = whole.count(b"\n")
                if count:
                    yield self._fast(whole, count, fields) or fields.of(self._rows(whole, first))
                first += count

    def _whole_lines(self, piece: bytes) -> bytes:
        if piece.endswith(b"\n"):
            return piece
        self.torn += 1
        return piece[: piece.rfind(b"\n") + 1]

    @staticmethod
    def _fast(piece: bytes, count: int, fields: Fields) -> list[Column] | None:
        """Return the columns of a piece of so many lines; None when it takes a closer look to say what is wrong."""
        try:
            columns = fields.columns(piece)
        except (ValueError, KeyError, TypeError, AttributeError):
            return None
        return columns if columns and len(columns[0]) == count else None

    def _rows(self, piece: bytes, first: int) -> list[Row]:
        return [self._parse(line, number) for number, line in enumerate(piece.split(b"\n"), first) if line.strip()]

    def _parse(self, line: bytes, number: int) -> Row:
        try:
            row: Row = json.loads(line)
        except ValueError as error:
            raise Unusable(f"{self._path.name}, line {number} is damaged: {error}") from error
        return row
