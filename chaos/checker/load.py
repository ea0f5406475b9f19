"""Turn the files of an evidence directory into tables of the checker's records.

A table that is missing, damaged, or lacks a column raises Unusable with the file's name. What the tables are made of
stands in `tables.py`.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from chaos.checker.columns import Columns, Pool
from chaos.checker.columnwise import Columnwise, names_of
from chaos.checker.fields import Column, Fields, Row, fields
from chaos.checker.lines import Lines, Unusable

R = TypeVar("R")
Growing: TypeAlias = "list[Any] | array[int]"
NUMBERS = frozenset({"xid", "id"})
"""Columns of numbers that nearly all differ: kept as bare machine words, which are smaller than as many objects."""
Table = list[Any]
Build = Callable[[list[Column]], Iterable[Any]]
Finish = Callable[[list[Column]], Sequence[Iterable[Any] | None]]


class Loader:
    """Reads one directory, and remembers how many torn lines it met in which file."""

    def __init__(self, directory: Path, omitting: frozenset[str] = frozenset()) -> None:
        """`omitting`: fields of the log's lines that nobody will ask for."""
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
        table: Table = []
        self._read(file, fields, lambda columns: table.extend(build(columns)))
        return table

    def columnwise(self, kind: type[R], fields: Fields, files: Mapping[str, Finish]) -> Columnwise[R]:
        """Load some fields of whole files as one table of columns. Raises Unusable.

        For each file, what makes the columns of the records of those of a piece, with None for one that is left out.
        """
        table: list[Growing | None] = [array("q") if name in NUMBERS else [] for name in names_of(kind)]
        for file, finish in files.items():
            self._read(file, fields, partial(_extend, table, finish))
        return Columnwise(kind, table)

    def _read(self, file: str, fields: Fields, add: Callable[[list[Column]], None]) -> None:
        lines = Lines(self.directory / file)
        try:
            for columns in lines.pieces(fields):
                add(columns)
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
            raise Unusable(f"{file} has a row that cannot be used: {error!r}") from error
        if lines.torn:
            self.torn[file] = lines.torn

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


def _extend(table: list[Growing | None], finish: Finish, columns: list[Column]) -> None:
    """Add a piece to a table of columns."""
    for number, more in enumerate(finish(columns)):
        found = table[number]
        if found is None or more is None:
            table[number] = None
        else:
            found.extend(more)
