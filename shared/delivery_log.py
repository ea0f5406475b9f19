"""Say in one log line a topic which deliveries a batch held and which of them the inbox knew.

Offsets are written as inclusive ranges, so that a replay of a million events costs lines of constant size. These lines
are the journal of deliveries: ``once trace`` and the chaos scenarios read them back.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from shared.inbox import Delivery


def batch_lines(batch: Sequence[Delivery], fresh: Sequence[Delivery]) -> Iterator[dict[str, Any]]:
    """Yield, for each topic of a batch, the fields of its log line."""
    applied = {(d.topic, d.partition, d.offset) for d in fresh}
    by_topic: dict[str, list[Delivery]] = defaultdict(list)
    for delivery in batch:
        by_topic[delivery.topic].append(delivery)
    for topic, deliveries in by_topic.items():
        duplicates = [d for d in deliveries if (d.topic, d.partition, d.offset) not in applied]
        all_offsets, known_offsets = _offsets(deliveries), _offsets(duplicates)
        yield {
            "topic": topic,
            "member": deliveries[0].member,
            "generation": deliveries[0].generation,
            "applied": len(deliveries) - len(duplicates),
            "duplicates": len(duplicates),
            "partitions": {
                str(partition): {
                    "offsets": ranges(offsets),
                    "duplicates": ranges(known_offsets.get(partition, ())),
                }
                for partition, offsets in sorted(all_offsets.items())
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


def _offsets(deliveries: Iterable[Delivery]) -> dict[int, list[int]]:
    offsets: dict[int, list[int]] = defaultdict(list)
    for delivery in deliveries:
        offsets[delivery.partition].append(delivery.offset)
    return offsets
