"""Find where a replay begins: for each partition, an offset at or before the one that the group has committed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from gettext import gettext as _
from typing import Final

from infra.kafka.committed import Place
from infra.kafka.marks import Marks
from infra.local.errors import StackError
from infra.local.services import in_namespace
from infra.replay.group import Group

EARLIEST: Final = "earliest"


@dataclass(frozen=True, slots=True)
class Stretch:
    """What of one partition would be delivered again: from ``begin`` on, up to ``end``, where the group stands."""

    place: Place
    begin: int
    end: int


def stretches(group: Group, to: str, topic: str | None = None, partition: int | None = None) -> list[Stretch]:
    """Say what a replay from ``to`` on would read again. Partitions that the group has never read are left out.

    Raises StackError for a place that is none, and for one that the log does not have or the group has not reached.
    """
    committed = _chosen(group, topic, partition)
    begins = _begins(Marks(group.kafka), to, committed)
    return [Stretch(place, begins[place], end) for place, end in committed.items()]


def _chosen(group: Group, topic: str | None, partition: int | None) -> dict[Place, int]:
    full = topic if topic is None or topic in group.topics else in_namespace(topic, group.deployment.namespace)
    if full not in (None, *group.topics):
        raise StackError(
            _("Group {group} does not read the topic {topic}. It reads {topics}.").format(
                group=group.name, topic=topic, topics=", ".join(group.topics)
            )
        )
    found = {
        place: offset
        for place, offset in group.committed().items()
        if full in (None, place[0]) and partition in (None, place[1])
    }
    if not found:
        raise StackError(
            _(
                "Group {group} has no offsets there: it has read nothing yet, and begins with the first event. There "
                "is nothing to replay."
            ).format(group=group.name)
        )
    return found


def _begins(marks: Marks, to: str, committed: Mapping[Place, int]) -> dict[Place, int]:
    if to == EARLIEST:
        return dict(marks.lows(committed))
    if to.isdecimal():
        return _at_offset(marks, int(to), committed)
    found = marks.since(committed, _time(to))
    # What the group has not reached yet comes anyway.
    return {place: min(found[place], end) for place, end in committed.items()}


def _at_offset(marks: Marks, offset: int, committed: Mapping[Place, int]) -> dict[Place, int]:
    if len(committed) > 1:
        raise StackError(
            _(
                "An offset is a place in one partition, and these are {count}: say which with --partition, and --topic "
                "where the group reads two. A time, or `earliest`, goes for all."
            ).format(count=len(committed))
        )
    (place, end), low = next(iter(committed.items())), _one(marks.lows(committed).values())
    if not low <= offset <= end:
        raise StackError(
            _(
                "{topic}[{partition}] can be read again from offset {low} on, where its log begins, up to {end}, where "
                "the group stands. {offset} is outside of that; a group is never moved forward, over events that it "
                "has not had."
            ).format(topic=place[0], partition=place[1], low=low, end=end, offset=offset)
        )
    return {place: offset}


def _one(values: Iterable[int]) -> int:
    (value,) = values
    return value


def _time(to: str) -> datetime:
    try:
        parsed = datetime.fromisoformat(to)
    except ValueError:
        raise StackError(
            _(
                "{to} is no place in a topic. Give an offset, a time such as 2026-01-31T12:00:00Z, or `earliest`."
            ).format(to=repr(to))
        ) from None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
