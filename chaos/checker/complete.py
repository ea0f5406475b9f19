"""Is the archive of the log whole, and in order? A judge that takes a hole in it for a loss would accuse the innocent.

Offsets of a partition are consecutive unless the topic is compacted or written in transactions, so an archive that
began before the first message has every offset from 0 to the end mark.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from chaos.checker.lines import Unusable
from chaos.checker.records import Copy, Mark


def in_order(copies: list[Copy]) -> list[Copy]:
    """Return the copies with each partition's in offset order; the list itself when that is how they stand."""
    latest: dict[tuple[str, int], int] = {}
    for copy in copies:
        partition = copy.topic, copy.partition
        if latest.get(partition, -1) > copy.offset:
            return sorted(copies, key=lambda c: (c.topic, c.partition, c.offset))
        latest[partition] = copy.offset
    return copies


def require_complete(copies: Iterable[Copy], marks: Iterable[Mark]) -> None:
    """Raise Unusable that names a partition of which something was not archived."""
    expected: dict[tuple[str, int], int] = defaultdict(int)
    for copy in copies:
        partition = copy.topic, copy.partition
        if copy.offset > expected[partition]:
            raise Unusable(
                f"log.jsonl is incomplete: offset {expected[partition]} of {copy.topic}/{copy.partition} is missing"
            )
        expected[partition] = copy.offset + 1
    for mark in marks:
        if mark.end > expected[mark.topic, mark.partition]:
            archived = expected[mark.topic, mark.partition]
            place = f"{mark.topic}/{mark.partition}"
            raise Unusable(f"log.jsonl is incomplete: {place} ends at {mark.end}, and was archived up to {archived}")
