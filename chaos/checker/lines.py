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

PIECE_BYTES = 1 << 17


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
            while lines := file.readlines(PIECE_BYTES):
                if not lines[-1].endswith(b"\n"):
                    self.torn += 1
                    lines.pop()
                yield self._parse(lines, first)
                first += len(lines)

    def _parse(self, lines: list[bytes], first: int) -> list[Row]:
        try:
            rows: list[Row] = json.loads(b"[" + b",".join(lines) + b"]")
        except ValueError:
            rows = []
        if len(rows) == len(lines):
            return rows
        return [self._parse_one(line, number) for number, line in enumerate(lines, first) if line.strip()]

    def _parse_one(self, line: bytes, number: int) -> Row:
        try:
            row: Row = json.loads(line)
        except ValueError as error:
            raise Unusable(f"{self._path.name}, line {number} is damaged: {error}") from error
        return row
