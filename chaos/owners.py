"""Who held which lane and which partition when, read from the relays' and the consumers' own log lines.

A process that is killed says nothing, so what it held ends with its own end (``processes.jsonl``) or with whoever
takes it next. For people who read a report; the judge does not ask for it.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from chaos.deliveries import plain_name
from chaos.history import Holding, OwnerMark
from chaos.journal import Tail

_MARKS = (b'"lanes changed"', b'"partitions assigned"', b'"partitions revoked"', b'"partitions lost"')

Unit = tuple[str, str]
"""Of whom, and which lane or partition."""


def read_all(logs: Iterable[Path], run: str) -> Iterator[OwnerMark]:
    """Every change of owner that the logs tell of, log by log."""
    for log in logs:
        yield from read_log(Tail(log).lines(), run)


def read_log(lines: Iterable[bytes], run: str) -> Iterator[OwnerMark]:
    """The changes that one process told of, in its order. A relay names all its lanes, a member what changes."""
    held: set[Unit] = set()
    for line in lines:
        if not any(mark in line for mark in _MARKS):
            continue
        entry: dict[str, Any] = json.loads(line)
        if entry["event"] == "lanes changed":
            name, now = _lanes(entry)
            dropped, taken = {unit for unit in held if unit[0] == name} - now, now
        else:
            units = _partitions(entry, run)
            dropped, taken = (set[Unit](), units) if entry["event"] == "partitions assigned" else (units, set[Unit]())
        held = (held - dropped) | taken
        for changed, what in ((dropped, Holding.DROPPED), (taken, Holding.TAKEN)):
            for name, unit in sorted(changed):
                yield OwnerMark(
                    at=datetime.fromisoformat(entry["at"]), instance=entry["instance"], of=name, unit=unit, what=what
                )


def _lanes(entry: Mapping[str, Any]) -> tuple[str, set[Unit]]:
    source = entry["relay"].split("-")[1]
    name = f"{source}: {entry['destination']}s"
    return name, {(name, f"lane {lane}") for lane in entry["lanes"]}


def _partitions(entry: Mapping[str, Any], run: str) -> set[Unit]:
    """``run.orders.events[3]`` is ``orders.events/3`` here as everywhere."""
    group = plain_name(entry["group"], run)
    return {(group, plain_name(place, run).replace("[", "/").rstrip("]")) for place in entry["partitions"]}
