"""Is the archive of the log whole, and in order? A judge that takes a hole in it for a loss would accuse the innocent.

Offsets of a partition are consecutive unless the topic is compacted or written in transactions, so an archive that
began before the first message has every offset from 0 to the end mark.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from operator import attrgetter, eq

from chaos.checker.lines import Unusable
from chaos.checker.records import Copy, Mark

PARTITION: Callable[[Copy], tuple[str, int]] = attrgetter("topic", "partition")
OFFSET: Callable[[Copy], int] = attrgetter("offset")


def in_order(copies: list[Copy]) -> list[Copy]:
    """Return the copies with each partition's in offset order; the list itself when that is how they stand."""
    if _is_consecutive(copies):
        return copies
    latest: dict[tuple[str, int], int] = {}
    for copy in copies:
        partition = copy.topic, copy.partition
        if latest.get(partition, -1) > copy.offset:
            return sorted(copies, key=lambda c: (c.topic, c.partition, c.offset))
        latest[partition] = copy.offset
    return copies


def _is_consecutive(copies: list[Copy]) -> bool:
    """Say whether each partition's offsets are 0, 1, 2, ... as they stand, which is how an archiver writes them."""
    counters: dict[tuple[str, int], Iterator[int]] = defaultdict(count)
    expected = map(next, map(counters.__getitem__, map(PARTITION, copies)))
    return all(map(eq, map(OFFSET, copies), expected))


def require_complete(copies: list[Copy], marks: Iterable[Mark]) -> None:
    """Raise Unusable that names a partition of which something was not archived."""
    ends = Counter(map(PARTITION, copies)) if _is_consecutive(copies) else _ends(copies)
    for mark in marks:
        if mark.end > ends[mark.topic, mark.partition]:
            archived = ends[mark.topic, mark.partition]
            place = f"{mark.topic}/{mark.partition}"
            raise Unusable(f"log.jsonl is incomplete: {place} ends at {mark.end}, and was archived up to {archived}")


def _ends(copies: Iterable[Copy]) -> Mapping[tuple[str, int], int]:
    """Return up to where each partition was archived. Raises Unusable for a hole."""
    expected: dict[tuple[str, int], int] = defaultdict(int)
    for copy in copies:
        partition = copy.topic, copy.partition
        if copy.offset > expected[partition]:
            raise Unusable(
                f"log.jsonl is incomplete: offset {expected[partition]} of {copy.topic}/{copy.partition} is missing"
            )
        expected[partition] = copy.offset + 1
    return expected
