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
    kinds = {"applied": _offsets(applied), "parked": _offsets(parked), "held": _offsets(held)}
    first = {received.topic: received for received in reversed(batch)}
    for topic, partitions in _offsets(batch).items():
        told = {kind: found.get(topic, {}) for kind, found in kinds.items()}
        told["duplicates"] = _without(partitions, told.values())
        counts = {kind: sum(map(len, found.values())) for kind, found in told.items()}
        # What happens rarely is mentioned only where it happens, and what is in no list was applied.
        listed = [kind for kind in ("duplicates", "parked", "held") if counts[kind] or kind == "duplicates"]
        yield {
            "topic": topic,
            "member": first[topic].member,
            "generation": first[topic].generation,
            "applied": counts["applied"],
            **{kind: counts[kind] for kind in listed},
            "partitions": {
                str(partition): {
                    "offsets": ranges(offsets),
                    **{kind: ranges(told[kind].get(partition, ())) for kind in listed},
                }
                for partition, offsets in sorted(partitions.items())
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


Offsets = dict[int, list[int]]
"""By partition."""


def _offsets(deliveries: Iterable[Received]) -> dict[str, Offsets]:
    offsets: dict[str, Offsets] = defaultdict(lambda: defaultdict(list))
    for delivery in deliveries:
        offsets[delivery.topic][delivery.partition].append(delivery.offset)
    return offsets


def _without(partitions: Offsets, others: Iterable[Offsets]) -> Offsets:
    return {
        partition: list(set(offsets).difference(*(other.get(partition, ()) for other in others)))
        for partition, offsets in partitions.items()
    }
