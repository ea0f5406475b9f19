"""Why each suppressed duplicate existed: told from the log, the deliveries and the hits of the faults.

For people, not for the judge. A duplicate delivery has one of three causes: the event stood in the log a second time
(a relay published it again), its group was sent back on purpose (a replay), or the same offset came again because a
member died or lost its partition before its offset was committed.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from gettext import gettext as _
from pathlib import Path

from chaos import journal
from chaos.history import Delivery
from chaos.journal import JournalReader

Place = tuple[str, int, int]


class Cause(StrEnum):
    REPUBLISHED = "republished"
    REPLAYED = "replayed"
    REDELIVERED = "redelivered"

    @property
    def sentence(self) -> str:
        return {
            Cause.REPUBLISHED: _("a relay published the event again"),
            Cause.REPLAYED: _("the group was sent back to the start"),
            Cause.REDELIVERED: _("a member died or lost its partition before its offset was noted"),
        }[self]


def count(evidence: Path) -> Mapping[Cause, int]:
    """Sum the suppressed deliveries of a run by cause."""
    copies = second_copies(journal.rows(evidence / "log.jsonl"))
    replays = _replays(evidence / "faults.jsonl")
    deliveries = list(JournalReader(evidence / Delivery.file, Delivery))
    return classify(sorted(deliveries, key=lambda delivery: delivery.at), copies, replays)


def classify(
    deliveries: Iterable[Delivery], copies: frozenset[Place], replays: Mapping[str, list[datetime]]
) -> Counter[Cause]:
    """``copies``: places in the log that repeat an earlier one; ``replays``: when each group was sent back."""
    counted: Counter[Cause] = Counter()
    reached: dict[tuple[str, str, int], tuple[int, datetime]] = {}
    for delivery in deliveries:
        partition = (delivery.group, delivery.topic, delivery.partition)
        highest, _at = reached.get(partition, (-1, delivery.at))
        last = delivery.last_offset or delivery.offset
        if delivery.duplicate:
            for offset in range(delivery.offset, last + 1):
                counted[_cause(delivery, offset, highest, copies, replays)] += 1
        reached[partition] = (max(highest, last), delivery.at)
    return counted


def _cause(
    delivery: Delivery,
    offset: int,
    highest: int,
    copies: frozenset[Place],
    replays: Mapping[str, list[datetime]],
) -> Cause:
    if offset > highest and (delivery.topic, delivery.partition, offset) in copies:
        return Cause.REPUBLISHED
    if any(delivery.at >= moment for moment in replays.get(delivery.group, ())):
        return Cause.REPLAYED
    return Cause.REDELIVERED


def second_copies(log: Iterable[Mapping[str, object]]) -> frozenset[Place]:
    """Places in the log where an event stands that has stood at a lower offset before."""
    places: dict[object, list[Place]] = {}
    for line in log:
        place = (str(line["topic"]), int(str(line["partition"])), int(str(line["offset"])))
        places.setdefault(line["event_id"], []).append(place)
    return frozenset(place for found in places.values() for place in sorted(found)[1:])


def _replays(faults: Path) -> Mapping[str, list[datetime]]:
    found: dict[str, list[datetime]] = {}
    for line in journal.rows(faults):
        if line["phase"] == "hit" and "offsets of" in (line["detail"] or ""):
            found.setdefault(line["target"], []).append(datetime.fromisoformat(line["at"]))
    return found
