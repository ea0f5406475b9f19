"""Is the archive of the log whole, and in order? A judge that takes a hole in it for a loss would accuse the innocent.

Offsets of a partition are consecutive unless the topic is compacted or written in transactions, so an archive that
began before the first message has every offset from 0 to the end mark.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from operator import eq

from chaos.checker.columnwise import Columnwise
from chaos.checker.lines import Unusable
from chaos.checker.records import Copy, Mark

Ends = Mapping[tuple[str, int], int]
"""Topic and partition → up to where it was archived."""


def in_order(copies: Columnwise[Copy], marks: Iterable[Mark], gaps: bool) -> Columnwise[Copy]:
    """Return the copies with each partition's in offset order; the same table when that is how they stand.

    Raises Unusable that names a partition of which something was not archived, unless there may be gaps.
    """
    ends = _consecutive(copies)
    if ends is None and not _ascending(copies):
        places = [*copies.columns("topic", "partition", "offset")]
        copies = copies.rearranged(sorted(range(len(copies)), key=places.__getitem__))
    if not gaps:
        _require(_unbroken(copies) if ends is None else ends, marks)
    return copies


def _consecutive(copies: Columnwise[Copy]) -> Ends | None:
    """Return the ends if each partition's offsets are 0, 1, 2, ... as they stand, as an archiver writes them."""
    counters: dict[tuple[str, int], Iterator[int]] = defaultdict(count)
    expected = map(next, map(counters.__getitem__, copies.columns("topic", "partition")))
    if all(map(eq, copies.column("offset"), expected)):
        return Counter({partition: next(counter) for partition, counter in counters.items()})
    return None


def _ascending(copies: Columnwise[Copy]) -> bool:
    latest: dict[tuple[str, int], int] = {}
    for topic, partition, offset in copies.columns("topic", "partition", "offset"):
        if latest.get((topic, partition), -1) > offset:
            return False
        latest[topic, partition] = offset
    return True


def _unbroken(copies: Columnwise[Copy]) -> Ends:
    """Return up to where each partition was archived. Raises Unusable for a hole."""
    ends: Counter[tuple[str, int]] = Counter()
    for topic, partition, offset in copies.columns("topic", "partition", "offset"):
        if offset > ends[topic, partition]:
            raise Unusable(
                f"log.jsonl is incomplete: offset {ends[topic, partition]} of {topic}/{partition} is missing"
            )
        ends[topic, partition] = offset + 1
    return ends


def _require(ends: Ends, marks: Iterable[Mark]) -> None:
    for mark in marks:
        archived = ends[mark.topic, mark.partition]
        if mark.end > archived:
            place = f"{mark.topic}/{mark.partition}"
            raise Unusable(f"log.jsonl is incomplete: {place} ends at {mark.end}, and was archived up to {archived}")
