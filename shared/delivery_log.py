"""Say in one log line a topic which deliveries a batch held, and which of them had no effect, and why.

Offsets are written as inclusive ranges, so that a replay of a million events costs lines of constant size. These lines
are the journal of deliveries: ``once trace`` and the chaos scenarios read them back.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from shared.receiving import Received


def batch_lines(
    batch: Sequence[Received],
    applied: Sequence[Received],
    parked: Sequence[Received] = (),
    held: Sequence[Received] = (),
) -> Iterator[dict[str, Any]]:
    """Yield, for each topic of a batch, the fields of its log line. What is in none of the others is a duplicate."""
    kinds = {"applied": _places(applied), "parked": _places(parked), "held": _places(held)}
    by_topic: dict[str, list[Received]] = defaultdict(list)
    for received in batch:
        by_topic[received.topic].append(received)
    for topic, deliveries in by_topic.items():
        by_kind: dict[str, list[Received]] = {"applied": [], "duplicates": [], "parked": [], "held": []}
        for received in deliveries:
            by_kind[_kind(received, kinds)].append(received)
        # What happens rarely is mentioned only where it happens.
        told = {kind: _offsets(found) for kind, found in by_kind.items() if found or kind == "duplicates"}
        told.pop("applied", None)
        yield {
            "topic": topic,
            "member": deliveries[0].member,
            "generation": deliveries[0].generation,
            "applied": len(by_kind["applied"]),
            **{kind: len(by_kind[kind]) for kind in told},
            "partitions": {
                str(partition): {
                    "offsets": ranges(offsets),
                    **{kind: ranges(found.get(partition, ())) for kind, found in told.items()},
                }
                for partition, offsets in sorted(_offsets(deliveries).items())
            },
        }


def ranges(numbers: Iterable[int]) -> list[list[int]]:
    """Fold numbers into inclusive ranges: 1, 2, 3, 7 becomes [[1, 3], [7, 7]]."""
    folded: list[list[int]] = []
    for number in sorted(numbers):
        if folded and number == folded[-1][1] + 1:
            folded[-1][1] = number
        else:
            folded.append([number, number])
    return folded


def _kind(received: Received, kinds: dict[str, set[tuple[str, int, int]]]) -> str:
    place = (received.topic, received.partition, received.offset)
    return next((kind for kind, places in kinds.items() if place in places), "duplicates")


def _places(deliveries: Iterable[Received]) -> set[tuple[str, int, int]]:
    return {(d.topic, d.partition, d.offset) for d in deliveries}


def _offsets(deliveries: Iterable[Received]) -> dict[int, list[int]]:
    offsets: dict[int, list[int]] = defaultdict(list)
    for delivery in deliveries:
        offsets[delivery.partition].append(delivery.offset)
    return offsets
