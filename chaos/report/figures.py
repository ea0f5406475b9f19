"""What the charts show, counted from the evidence: what waited, who was behind, how long it took, who owned what."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from gettext import gettext as _
from pathlib import Path

from chaos import journal
from chaos.checker.evidence import Evidence
from chaos.checker.story import fault_windows
from chaos.report.times import Axis, Change, peaks, rows, seconds

CELLS = 240
LAG_CELLS = 120


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time that belongs to somebody."""

    who: str
    begin: float
    end: float


def outstanding(evidence: Evidence, axis: Axis) -> list[tuple[str, list[int]]]:
    """For each station on the way, the highest number of things that waited there in each stretch of time."""
    stations = {
        _("written, not yet in the log"): _unpublished(evidence),
        _("in the log, not yet applied by every group"): _unapplied(evidence),
        _("invoiced, invoice not yet mailed"): _unmailed(evidence),
    }
    return [(name, peaks(changes, axis, CELLS)) for name, changes in stations.items()]


def _unpublished(evidence: Evidence) -> Iterator[Change]:
    firsts = evidence.first_copies if evidence.has("copies") else {}
    for event in rows(evidence, "events"):
        if event.destination == "event":
            yield from _from_to(event.occurred_at, getattr(firsts.get(event.event_id), "timestamp", None))


def _unapplied(evidence: Evidence) -> Iterator[Change]:
    firsts = evidence.first_copies if evidence.has("copies") else {}
    applied = {(row.group, row.event_id): row.applied_at for row in rows(evidence, "inbox")}
    with_inbox = {group for group, _event_id in applied}  # what a group without an inbox has done, nobody knows
    for group, topics in evidence.run.groups.items():
        for event_id, copy in firsts.items() if group in with_inbox else ():
            if copy.topic in topics and copy.timestamp:
                yield from _from_to(copy.timestamp, applied.get((group, event_id)))


def _unmailed(evidence: Evidence) -> Iterator[Change]:
    arrived: dict[str, str] = {}
    for mail in rows(evidence, "mails"):
        arrived.setdefault(mail.key, mail.at)
    for event in rows(evidence, "events"):
        if event.destination == "command":
            yield from _from_to(event.occurred_at, arrived.get(event.event_id))


def _from_to(begin: str, end: str | None) -> Iterator[Change]:
    begun = seconds(begin)
    yield begun, 1
    if end is not None:
        yield max(begun, seconds(end)), -1


def lags(evidence: Evidence, axis: Axis) -> dict[str, list[tuple[str, list[int]]]]:
    """For each group, its partitions with how many messages each was behind, stretch by stretch."""
    written: dict[tuple[str, int], list[float]] = defaultdict(list)
    for copy in rows(evidence, "copies"):
        if copy.timestamp:
            written[copy.topic, copy.partition].append(seconds(copy.timestamp))
    read: dict[tuple[str, str, int], list[tuple[float, int]]] = defaultdict(list)
    for delivery in rows(evidence, "deliveries"):
        place = delivery.group, delivery.topic, delivery.partition
        read[place].append((seconds(delivery.at), delivery.last_offset + 1))
    found: dict[str, list[tuple[str, list[int]]]] = defaultdict(list)
    for group, topics in evidence.run.groups.items():
        for (topic, partition), moments in sorted(written.items()):
            if topic in topics:
                behind = _behind(sorted(moments), sorted(read[group, topic, partition]), axis)
                found[group].append((f"{topic}/{partition}", behind))
    return dict(found)


def _behind(written: list[float], read: list[tuple[float, int]], axis: Axis) -> list[int]:
    cell = (axis.end - axis.begin) / LAG_CELLS
    ends = [axis.begin + cell * (number + 1) for number in range(LAG_CELLS)]
    moments = [moment for moment, _position in read]
    behind = []
    for end in ends:
        done = bisect_right(moments, end)
        behind.append(max(0, bisect_right(written, end) - (read[done - 1][1] if done else 0)))
    return behind


def latencies(evidence: Evidence) -> list[tuple[float, float]]:
    """When each invoice was issued, and how many seconds after its order's event was written."""
    events = evidence.event_of if evidence.has("events") else {}
    return sorted(
        (seconds(invoice.applied_at), seconds(invoice.applied_at) - seconds(events[invoice.event_id].occurred_at))
        for invoice in rows(evidence, "invoices")
        if invoice.event_id in events
    )


def owners(directory: Path, axis: Axis) -> dict[str, dict[str, list[Span]]]:
    """For each relay destination and each group, its lanes or partitions with who held them when."""
    gone = defaultdict(list)
    for row in journal.rows(directory / "processes.jsonl"):
        if row["what"] == "exited":
            gone[row["instance"]].append(seconds(row["at"]))
    held: dict[str, dict[str, list[tuple[float, str, str]]]] = defaultdict(lambda: defaultdict(list))
    for row in journal.rows(directory / "owners.jsonl"):
        held[row["of"]][row["unit"]].append((seconds(row["at"]), row["what"], row["instance"]))
    return {
        name: {unit: list(_spans(changes, gone, axis)) for unit, changes in sorted(units.items(), key=_natural)}
        for name, units in sorted(held.items())
    }


def _natural(item: tuple[str, object]) -> tuple[str, int]:
    head = item[0].rstrip("0123456789")
    return head, int(item[0][len(head) :] or 0)


def _spans(changes: list[tuple[float, str, str]], gone: dict[str, list[float]], axis: Axis) -> Iterator[Span]:
    """A holding ends when it is given up, when its holder ends, or when another takes it."""
    for place, (begin, what, who) in enumerate(changes):
        if what != "taken":
            continue
        later = [moment for moment, _what, _who in changes[place + 1 : place + 2]]
        ends = [moment for moment in gone[who] if moment > begin]
        end = min([*later, *ends, axis.end])
        if end > axis.begin:
            yield Span(who, max(begin, axis.begin), end)


def windows(evidence: Evidence, axis: Axis) -> list[tuple[str, float, float, list[float]]]:
    """Each fault with the time of its injection and of its last healing, and the moments in which it struck."""
    marks = rows(evidence, "faults")
    hits = defaultdict(list)
    for mark in marks:
        if mark.phase == "hit":
            hits[mark.fault].append(seconds(mark.at))
    found: dict[str, tuple[float, float]] = {}
    for window in fault_windows(marks):
        end = window.end.timestamp() if window.end else axis.end
        begin, last = found.get(window.fault, (window.begin.timestamp(), end))
        found[window.fault] = min(begin, window.begin.timestamp()), max(last, end)
    return [(fault, begin, end, hits[fault]) for fault, (begin, end) in found.items()]
