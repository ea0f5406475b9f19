"""Pick and group rows by functions written in C: there are millions, and nearly all of them are as they should be."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence
from itertools import compress
from operator import attrgetter, not_
from typing import Any, TypeVar

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)

ORDER_ID: Callable[[Any], Any] = attrgetter("order_id")


def in_sequence(version: int | None) -> int:
    """Return a version to sort by; 0 for one that is not told."""
    return version or 0


def among(rows: Sequence[T], key: Callable[[T], Any], wanted: Container[Any]) -> Iterator[T]:
    """Yield the rows whose key is one of the wanted."""
    return compress(rows, map(wanted.__contains__, map(key, rows)))


def outside(rows: Sequence[T], key: Callable[[T], Any], known: Container[Any]) -> Iterator[T]:
    """Yield the rows whose key is none of the known."""
    return compress(rows, map(not_, map(known.__contains__, map(key, rows))))


def grouped(rows: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    groups: dict[K, list[T]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return dict(groups)
