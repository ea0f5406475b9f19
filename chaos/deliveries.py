"""Which member was given which offsets, read from the consumers' own log lines (``batch applied``).

A line is written after the commit of its batch. A member that is killed between the commit and the line leaves a batch
that nobody reported; its effect is in the database with its provenance, and its redelivery is reported by whoever
gets it next.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from chaos.history import Delivery
from chaos.journal import Tail

_MARK = b'"batch applied"'

Range = tuple[int, int]


def plain_name(name: str, run: str) -> str:
    """The name of a topic or a group without the run's prefix."""
    return name.removeprefix(f"{run}.")


def read_line(line: bytes, run: str) -> Iterator[Delivery]:
    """Yield the deliveries that a log line reports; other lines report none."""
    if _MARK not in line:
        return
    try:
        entry: dict[str, Any] = json.loads(line)
    except ValueError:
        return
    for partition, offsets in entry["partitions"].items():
        known = [(first, last) for first, last in offsets["duplicates"]]
        for first, last in offsets["offsets"]:
            for start, end, duplicate in split(first, last, known):
                yield Delivery(
                    group=plain_name(entry["group"], run),
                    topic=plain_name(entry["topic"], run),
                    partition=int(partition),
                    offset=start,
                    last_offset=end if end > start else None,
                    instance=entry["instance"],
                    member=entry["member"],
                    generation=entry["generation"],
                    at=datetime.fromisoformat(entry["at"]),
                    duplicate=duplicate,
                )


def split(first: int, last: int, known: Iterable[Range]) -> Iterator[tuple[int, int, bool]]:
    """Cut one range of offsets into stretches that were new and stretches that were known."""
    position = first
    for start, end in sorted(known):
        if end < first or start > last:
            continue
        start, end = max(start, first), min(end, last)
        if position < start:
            yield position, start - 1, False
        yield start, end, True
        position = end + 1
    if position <= last:
        yield position, last, False


def size(delivery: Delivery) -> int:
    """How many messages a delivery stands for."""
    return (delivery.last_offset or delivery.offset) - delivery.offset + 1


def read_all(logs: Iterable[Path], run: str) -> Iterator[Delivery]:
    """Every reported delivery, from whole log files and their rotated predecessors, oldest file first."""
    for log in logs:
        for part in [*sorted(log.parent.glob(f"{log.name}.*"), key=_rotation, reverse=True), log]:
            for line in Tail(part).lines():
                yield from read_line(line, run)


def _rotation(path: Path) -> int:
    return int(path.suffix[1:]) if path.suffix[1:].isdecimal() else 0


@dataclass(slots=True)
class DeliveryCount:
    """Running totals for spectators, kept up to date by looking at what the logs have gained."""

    run: str
    logs: Mapping[Path, Tail]
    delivered: int = 0
    suppressed: int = 0

    @classmethod
    def of(cls, logs: Iterable[Path], run: str) -> "DeliveryCount":
        return cls(run, {log: Tail(log) for log in logs})

    def refresh(self) -> None:
        for tail in self.logs.values():
            for line in tail.lines():
                for delivery in read_line(line, self.run):
                    count = size(delivery)
                    self.delivered += count
                    self.suppressed += count if delivery.duplicate else 0
