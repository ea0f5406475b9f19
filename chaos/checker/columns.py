"""Build a table's records column by column, which takes a quarter of the time that row by row does.

There are millions of rows, so everything that is done to each of them is done by functions written in C:
``attrgetter``, ``zip``, ``map``, ``dict.setdefault``. A text that comes back in other rows and tables is kept once in
memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from chaos.checker.fields import Column, Fields, fields

Pool = dict[Any, Any]

REPEATED = frozenset({
    "op", "customer_id", "order_id", "event_id", "currency", "expect", "result", "aggregate_type", "aggregate_id",
    "destination", "type", "topic", "consumer", "group", "member", "instance", "state", "status", "series",
    "invoice_number", "number", "recipient", "message_id",
    "offset", "amount_minor", "year",
})  # fmt: skip
"""Columns whose values stand in many rows or tables; numbers, too: each is an object of its own otherwise."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns a record is made of, in its order. `always` comes first and is the same in every row.

    A missing value of a needed column is a KeyError, of an optional one None. `changed` says what becomes of a column.
    """

    kind: Callable[..., Any]
    needed: tuple[str, ...]
    optional: tuple[str, ...] = ()
    always: tuple[Any, ...] = ()
    changed: Mapping[str, Callable[[Column], Iterable[Any]]] = field(default_factory=dict)

    @property
    def fields(self) -> Fields:
        return fields(self.needed, self.optional)

    def records(self, columns: Sequence[Column], pool: Pool) -> Iterable[Any]:
        """Return the records of these columns, at least one."""
        return records(self.kind, self.finished(columns, pool))

    def finished(self, columns: Sequence[Column], pool: Pool) -> list[Iterable[Any]]:
        """Return the columns as they go into the records."""
        same: list[Iterable[Any]] = [[value] * len(columns[0]) for value in self.always]
        return same + [self._final(*named, pool) for named in zip((*self.needed, *self.optional), columns, strict=True)]

    def _final(self, name: str, column: Column, pool: Pool) -> Iterable[Any]:
        change = self.changed.get(name)
        if change:
            column = [*change(column)]
        return shared(column, pool) if name in REPEATED else column


def shared(column: Column, pool: Pool) -> Iterable[Any]:
    """Return the column with every value replaced by the one copy that all tables share."""
    return map(pool.setdefault, column, column)


def records(kind: Callable[..., Any], columns: Iterable[Iterable[Any]]) -> Iterable[Any]:
    """Return the rows of these columns as named tuples of a kind."""
    make: Callable[[tuple[Any, ...]], Any] = partial(tuple.__new__, kind)  # type: ignore[arg-type]
    return map(make, zip(*columns, strict=True))
