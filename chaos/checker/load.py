"""Turn the files of an evidence directory into tables of the checker's records.

A table that is missing, damaged, or lacks a column raises Unusable with the file's name. What the tables are made of
stands in `tables.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from chaos.checker.columns import Columns, Pool
from chaos.checker.fields import Column, Fields, Row, fields
from chaos.checker.lines import Lines, Unusable

Table = list[Any]
Build = Callable[[list[Column]], Iterable[Any]]


class Loader:
    """Reads one directory, and remembers how many torn lines it met in which file."""

    def __init__(self, directory: Path, omitting: frozenset[str] = frozenset()) -> None:
        """`omitting`: dear columns of the log that nobody will ask for: "digest", "facts", "timestamp"."""
        self.directory = directory
        self.omitting = omitting
        self.torn: dict[str, int] = {}
        self.pool: Pool = {}

    def has(self, file: str) -> bool:
        return (self.directory / file).exists()

    def table(self, file: str, columns: Columns) -> Table:
        """Load a whole file as records. Raises Unusable."""
        return self.built(file, columns.fields, lambda found: columns.records(found, self.pool))

    def built(self, file: str, fields: Fields, build: Build) -> Table:
        """Load some fields of a whole file; `build` makes records of the columns of a piece of it. Raises Unusable."""
        lines = Lines(self.directory / file)
        table: Table = []
        try:
            for columns in lines.pieces(fields):
                table += build(columns)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise Unusable(f"{file} has a row that cannot be used: {error!r}") from error
        if lines.torn:
            self.torn[file] = lines.torn
        return table

    def rows(self, file: str, needed: Sequence[str], optional: Sequence[str] = ()) -> Iterable[Row]:
        """Load some fields of a small file as objects. Raises Unusable."""
        wanted = fields(needed, optional)
        names = (*needed, *optional)
        return (
            dict(zip(names, row, strict=True))
            for row in self.built(file, wanted, lambda found: zip(*found, strict=True))
        )

    def document(self, file: str) -> Any:
        if not self.has(file):
            raise Unusable(f"{file} is missing")
        try:
            return json.loads((self.directory / file).read_bytes())
        except ValueError as error:
            raise Unusable(f"{file} is damaged: {error}") from error
