"""Send a consumer group back, and say before what would be delivered again and what of it would have an effect.

Invariant: nothing is moved that reaches further back than the longest replay allowed, unless it is forced; inside of
that every inbox knows what it has seen, so a replay changes nothing.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from gettext import gettext as _

from infra.kafka.committed import Place
from infra.local.errors import StackError
from infra.local.server import Report
from infra.replay.group import Group
from infra.replay.known import Again, look
from infra.replay.places import stretches
from shared.dedup_window import DEDUP_WINDOW_DAYS, LONGEST_REPLAY_DAYS, DedupWindow


class TooOldError(StackError):
    """A replay reaches further back than it may."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a replay would do, partition by partition."""

    again: Mapping[Place, Again]
    window_days: int
    longest_days: int
    looked_at: datetime

    @property
    def total(self) -> Again:
        total = Again(0, 0)
        for each in self.again.values():
            total.events += each.events
            total.known += each.known
            total.nameless += each.nameless
            total.beyond += each.beyond
            total.unknown += each.unknown
            total.forgotten += each.forgotten
            total.oldest = min(filter(None, (total.oldest, each.oldest)), default=None)
        return total

    @property
    def is_too_old(self) -> bool:
        oldest = self.total.oldest
        return oldest is not None and oldest < self.looked_at - timedelta(days=self.longest_days)


def plan(group: Group, to: str, topic: str | None = None, partition: int | None = None) -> Plan:
    """Look at what a replay would deliver again. Changes nothing. Raises StackError where there is no such place."""
    window_days, longest_days = _days(group)
    now = datetime.now(UTC)
    url = group.deployment.superuser_url(group.service)
    found = stretches(group, to, topic, partition)
    return Plan(
        look(group.kafka, url, group.name, found, DedupWindow(window_days), now), window_days, longest_days, now
    )


def replay(group: Group, planned: Plan, report: Report, *, force: bool = False) -> None:
    """Send a group back as planned, whether it runs or not. What it has read since the plan comes again as well.

    Raises TooOldError before anything is touched, OffsetsRefusedError when the broker says no, and StackError when
    members do not end; members that ran are started again in any case.
    """
    refuse(planned, force=force)
    offsets = {place: again.begin for place, again in planned.again.items() if again.begin < again.end}
    with group.stopped(report):
        report(_("Moving the offsets of {count} partitions").format(count=len(offsets)))
        group.move(offsets)


def refuse(planned: Plan, *, force: bool) -> None:
    """Raise TooOldError for a plan that reaches too far back, with what would double."""
    if planned.is_too_old and not force:
        raise TooOldError(
            _(
                "That reaches back to {oldest:%Y-%m-%d %H:%M} UTC, and the longest replay allowed is {longest} days "
                "(LONGEST_REPLAY_DAYS). {doubles} Nothing was changed. Begin later, or say --force."
            ).format(oldest=planned.total.oldest, longest=planned.longest_days, doubles=doubles(planned))
        )


def doubles(planned: Plan) -> str:
    """Say which effects a replay could double."""
    total = planned.total
    if not total.beyond:
        return _("None of it is older than the {days} days of the inbox.").format(days=planned.window_days)
    words = _("{beyond} events are older than the {days} days for which the inbox knows what it has seen.").format(
        beyond=total.beyond, days=planned.window_days
    )
    if not total.forgotten:
        return f"{words} " + _("It still knows all of them, so nothing would double.")
    return f"{words} " + _(
        "It does not know {count} of them ({types}): consumers park them instead of applying them, and one that is "
        "redriven from there has its effect a second time."
    ).format(count=total.forgotten.total(), types=in_words(total.forgotten))


def in_words(types: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(types.items()))


def _days(group: Group) -> tuple[int, int]:
    """Return the window and the longest replay, as the group's members are told them."""
    environment = group.deployment.environment(group.members[0])
    return (
        int(environment.get("DEDUP_WINDOW_DAYS", DEDUP_WINDOW_DAYS)),
        int(environment.get("LONGEST_REPLAY_DAYS", LONGEST_REPLAY_DAYS)),
    )
