"""Read JSON lines fast: many lines to one call of the parser, a bounded piece of the file at a time.

A torn last line (no newline at its end) is skipped and counted. Any other unreadable line raises Unusable: nobody
knows what it said, so nothing that rests on this file can be judged.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]

PIECE_BYTES = 1 << 16
"""What a processor keeps close at hand: larger pieces are read more slowly."""


class Unusable(Exception):
    """A piece of evidence is missing or damaged; what needs it is UNKNOWN. The text says which and why."""


class Lines:
    """The objects of one file, in pieces. `torn` counts torn last lines once the iteration has ended."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.torn = 0

    def pieces(self) -> Iterator[list[Row]]:
        """Yield lists of objects. Raises Unusable when the file is missing or damaged."""
        if not self._path.exists():
            raise Unusable(f"{self._path.name} is missing")
        first = 1
        with self._path.open("rb") as file:
            while piece := file.read(PIECE_BYTES) + file.readline():
                whole = self._whole_lines(piece)
                if whole:
                    yield self._parse(whole, first)
                first += whole.count(b"\n")

    def _whole_lines(self, piece: bytes) -> bytes:
        if piece.endswith(b"\n"):
            return piece
        self.torn += 1
        return piece[: piece.rfind(b"\n") + 1]

    def _parse(self, piece: bytes, first: int) -> list[Row]:
        try:
            # Not only a comma: a line break inside a string has to stay an error.
            rows: list[Row] = json.loads(b"[" + piece[:-1].replace(b"\n", b",\n") + b"]")
        except ValueError:
            rows = []
        if len(rows) == piece.count(b"\n"):
            return rows
        return [self._parse_one(line, number) for number, line in enumerate(piece.split(b"\n"), first) if line.strip()]

    def _parse_one(self, line: bytes, number: int) -> Row:
        try:
            row: Row = json.loads(line)
        except ValueError as error:
            raise Unusable(f"{self._path.name}, line {number} is damaged: {error}") from error
        return row
