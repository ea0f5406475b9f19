"""A table of millions of rows, kept column by column.

A rule that compares whole columns does it in C and touches nothing else of the rows; a record is made of a row only for
who asks for it, which is nobody as long as a row is as it should be. A record therefore has no identity: two looks at
one row are equal, and two objects.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Iterator, KeysView, Mapping, Sequence
from functools import partial
from itertools import compress, count, repeat
from operator import gt, itemgetter, not_
from typing import Any, Self, TypeVar, overload

R = TypeVar("R")
K = TypeVar("K", bound=Hashable)
Place = int
"""The number of a row in its table, from 0 on."""
Column = Sequence[Any]


class Columnwise(Sequence[R]):
    """The rows of one kind of record."""

    def __init__(self, kind: type[R], columns: Sequence[Column | None]) -> None:
        """`columns`: one for each field of the record, in its order; None for one that was left out.

        A record has an Ellipsis there, and who asks for the whole column gets a LookupError.
        """
        self._columns: Mapping[str, Column | None] = dict(zip(names_of(kind), columns, strict=True))
        self._kind = kind
        self._make: Callable[[Iterable[Any]], R] = partial(tuple.__new__, kind)  # type: ignore[type-var]
        self._length = next(len(column) for column in columns if column is not None)

    @classmethod
    def of(cls, kind: type[R], rows: Iterable[R]) -> Self:
        """Return the table of these records."""
        columns: list[Column] = [*zip(*rows, strict=True)]
        return cls(kind, columns or [()] * len(names_of(kind)))

    def rearranged(self, places: Sequence[Place]) -> Columnwise[R]:
        """Return a table of the rows at these places."""
        columns = [None if column is None else picked(column, places) for column in self._columns.values()]
        return Columnwise(self._kind, columns)

    def column(self, name: str) -> Column:
        """Return the values of a field, in the order of the rows."""
        column = self._columns[name]
        if column is None:
            raise LookupError(f"the column {name} was not loaded")
        return column

    def columns(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """Yield the values of some fields, row by row."""
        return zip(*map(self.column, names), strict=True)

    def column_at(self, places: Sequence[Place], name: str) -> Column:
        """Return the values of a field in the rows at these places."""
        return picked(self.column(name), places)

    def columns_at(self, places: Sequence[Place], *names: str) -> Iterator[tuple[Any, ...]]:
        """Yield the values of some fields in the rows at these places."""
        return zip(*(self.column_at(places, name) for name in names), strict=True)

    def numbered(self, places: Sequence[Place], *names: str) -> Iterator[tuple[Place, tuple[Any, ...]]]:
        """Yield these places, each with the values of some fields in the row that is there."""
        return zip(places, self.columns_at(places, *names), strict=True)

    def at(self, places: Iterable[Place]) -> Iterator[R]:
        """Yield the rows at these places."""
        return map(self.__getitem__, places)

    def among(self, name: str, wanted: Container[Any]) -> Iterator[R]:
        """Yield the rows whose value of a field is one of the wanted."""
        return self.at(places_of(map(wanted.__contains__, self.column(name))))

    def outside(self, name: str, known: Container[Any]) -> Iterator[R]:
        """Yield the rows whose value of a field is none of the known."""
        return self.at(places_of(map(not_, map(known.__contains__, self.column(name)))))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Columnwise) and [*self] == [*other]

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[R]:
        columns = (repeat(..., self._length) if column is None else column for column in self._columns.values())
        return map(self._make, zip(*columns, strict=True))

    @overload
    def __getitem__(self, place: int) -> R: ...
    @overload
    def __getitem__(self, place: slice) -> list[R]: ...
    def __getitem__(self, place: int | slice) -> R | list[R]:
        if isinstance(place, slice):
            return [*self.at(range(*place.indices(self._length)))]
        return self._make([... if column is None else column[place] for column in self._columns.values()])


class ByKey(Mapping[K, R]):
    """The rows of a table by a key of theirs. `places` says where they are: what C code asks."""

    def __init__(self, rows: Columnwise[R], places: dict[K, Place]) -> None:
        self._rows = rows
        self.places = places

    def __getitem__(self, key: K) -> R:
        return self._rows[self.places[key]]

    def __contains__(self, key: object) -> bool:
        return key in self.places

    def __iter__(self) -> Iterator[K]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)

    def keys(self) -> KeysView[K]:
        return self.places.keys()


def names_of(kind: type[Any]) -> tuple[str, ...]:
    """Return the fields of a kind of record, which is a NamedTuple."""
    names: tuple[str, ...] = kind._fields
    return names


def places_of(chosen: Iterable[Any]) -> Iterator[Place]:
    """Yield the places at which something true stands."""
    return compress(count(), chosen)


def but_not(these: Iterable[bool], those: Iterable[bool]) -> Iterator[bool]:
    """Say of each place whether it is one of these and none of those."""
    return map(gt, these, those)


def picked(column: Column, places: Sequence[Place]) -> Column:
    """Return what stands in a column at these places."""
    if len(places) < 2:
        return [column[place] for place in places]
    found: Column = itemgetter(*places)(column)
    return found
