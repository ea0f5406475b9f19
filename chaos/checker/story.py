"""A counterexample as a story: what happened to one order, in time order, and the moment at which it went wrong.

A story fits a screen: when it is too long, the least telling moments give way and are counted. The turning point says
who did it, where, which fault had struck, and what should have happened instead (`chaos.checker.turning`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from gettext import gettext as _
from gettext import ngettext

from chaos.checker.evidence import Evidence
from chaos.checker.finding import Counterexample
from chaos.checker.records import CreditNote, FaultMark, Invoice
from chaos.checker.scenes import Kind, Moment, Scene, Scenes, time_of
from chaos.checker.turning import TURNS, Case, suspect

__all__ = ["LONGEST", "Kind", "Moment", "Story", "Turning", "Window", "fault_windows", "tell", "time_of", "to_text"]

LONGEST = 16
"""Moments that fit a screen of 24 lines beside the heading and the turning point."""
CLOCKS_APART = timedelta(seconds=0.5)
"""Times of two journals are from two clocks; a hit this much later may still have come first."""


@dataclass(frozen=True, slots=True)
class Turning:
    """Where it went wrong, and what should have happened."""

    should: str
    moment: int | None = None
    """Which of the story's moments, None when it cannot be told."""
    fault: str | None = None
    """The fault that had struck last, with its victim."""
    who: str | None = None
    where: str | None = None


@dataclass(frozen=True, slots=True)
class Story:
    invariant: str
    what: str
    order_id: str | None
    moments: tuple[Moment, ...]
    left_out: int
    turning: Turning | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """A fault from its injection to its healing."""

    fault: str
    begin: datetime
    end: datetime | None

    def holds(self, at: datetime) -> bool:
        return self.begin <= at and (self.end is None or at <= self.end)


def tell(invariant: str, example: Counterexample, evidence: Evidence, longest: int = LONGEST) -> Story:
    """Gather the moments of the counterexample's order, at most `longest` of them."""
    order_id, event_id = example.order_id, example.event_id
    if order_id is None:
        order_id, event_id = suspect(invariant, evidence) or (None, None)
    gathered = Scenes(order_id, evidence) if order_id else None
    scenes = gathered.all() if gathered else []
    turn = TURNS.get(invariant)
    point = turn.find(Case(event_id, scenes, gathered, evidence)) if turn and gathered else None
    marks = _faults(evidence)
    cause = _cause(point, marks) if point else None
    scenes = _with_faults(scenes, point, cause, marks)
    kept = _most_telling(scenes, (point, cause), longest)
    windows = fault_windows(marks)
    moments = tuple(replace(each.moment, during=tuple(w.fault for w in windows if w.holds(each.at))) for each in kept)
    return Story(
        invariant, example.what, order_id, moments, len(scenes) - len(kept),
        _turning(_(turn.should), kept, point, cause) if turn else None,
    )  # fmt: skip


def _turning(should: str, kept: list[Scene], point: Scene | None, cause: Scene | None) -> Turning:
    if point is None:
        return Turning(should)
    fault = cause.moment.what if cause else None
    return Turning(should, kept.index(point), fault, point.moment.who, point.moment.where)


def to_text(story: Story) -> str:
    """Render a story for a terminal without colours; the faults that go on are named where that changes."""
    lines = [f"{story.invariant}: {story.what}"]
    before: tuple[str, ...] = ()
    turned = story.turning.moment if story.turning else None
    for number, moment in enumerate(story.moments):
        mark = "►" if number == turned else "▌" if moment.during else " "
        lines.append(f" {mark} {clock(moment.at)}  {moment.kind:<9} {moment.what}{_changes(before, moment.during)}")
        before = moment.during
    if story.left_out:
        lines.append("   " + left_out_in_words(story))
    return "\n".join([*lines, *(f"   {sentence}" for sentence in turning_in_words(story))])


def left_out_in_words(story: Story) -> str:
    more = ngettext(
        "{count} less telling moment is left out", "{count} less telling moments are left out", story.left_out
    )
    return "… " + more.format(count=story.left_out)


def turning_in_words(story: Story) -> list[str]:
    """Say when, who, where, under which fault, and what should have happened; four short sentences at most."""
    turning = story.turning
    if turning is None:
        return []
    should = _("What should have happened: {should}").format(should=turning.should)
    if turning.moment is None:
        return [should]
    when = clock(story.moments[turning.moment].at)
    place = ", ".join(each for each in (turning.who, turning.where) if each)
    wrong = _("► It went wrong at {when}: {place}.").format(when=when, place=place)
    if turning.fault:
        return [wrong, _("The fault that had struck last: {fault}.").format(fault=turning.fault), should]
    return [wrong, _("No fault had struck: this goes wrong by itself."), should]


def clock(at: datetime) -> str:
    return f"{at:%H:%M:%S}.{at.microsecond // 1000:03d}"


def _changes(before: tuple[str, ...], during: tuple[str, ...]) -> str:
    begun = [f"◀ {fault}" for fault in during if fault not in before]
    ended = [_("◁ {fault} over").format(fault=fault) for fault in before if fault not in during]
    return "".join(f"  {change}" for change in (*begun, *ended))


def _most_telling(scenes: list[Scene], points: tuple[Scene | None, ...], longest: int) -> list[Scene]:
    if len(scenes) <= longest:
        return scenes
    kept = sorted(range(len(scenes)), key=lambda place: (_rank(scenes[place], points), place))[:longest]
    return [scenes[place] for place in sorted(kept)]


def _rank(each: Scene, points: tuple[Scene | None, ...]) -> int:
    """The turning point and its cause first, then what the customer sees, then the way there."""
    if any(each is point for point in points):
        return 0
    if isinstance(each.row, Invoice | CreditNote):
        return 1
    return 2 + list(TELLING).index(each.moment.kind)


TELLING = (
    Kind.REQUEST, Kind.MAIL, Kind.OUTBOX, Kind.LOG, Kind.EFFECT, Kind.FAULT, Kind.DELIVERY, Kind.DUPLICATE,
)  # fmt: skip


def _faults(evidence: Evidence) -> list[FaultMark]:
    marks = evidence.faults if evidence.has("faults") else []
    return [mark for mark in marks if time_of(mark.at)]


def _cause(point: Scene, marks: list[FaultMark]) -> Scene | None:
    """The hit that came last before the turning point."""
    hits = [_struck(mark) for mark in marks if mark.phase == "hit"]
    before = (hit for hit in hits if hit.at <= point.at + CLOCKS_APART)
    return max(before, key=lambda hit: hit.at, default=None)


def _struck(mark: FaultMark) -> Scene:
    what = _("{fault}: {phase} {target}").format(fault=mark.fault, phase=mark.phase, target=mark.target or "")
    at = time_of(mark.at)
    assert at is not None
    return Scene(Moment(at, Kind.FAULT, f"{what} {mark.failpoint or mark.detail or ''}".strip(), who=mark.target))


def _with_faults(scenes: list[Scene], point: Scene | None, cause: Scene | None, marks: list[FaultMark]) -> list[Scene]:
    """Add the turning point, its cause, and the other hits and healings that fall into the story's own time."""
    if not scenes:
        return scenes
    first, last = scenes[0].at, scenes[-1].at
    extra = [each for each in (point, cause) if each and not any(each is other for other in scenes)]
    for mark in marks:
        struck = _struck(mark)
        if mark.phase in ("hit", "heal") and first <= struck.at <= last and (not cause or struck != cause):
            extra.append(struck)
    return sorted([*scenes, *extra], key=lambda each: each.at)


def fault_windows(marks: Iterable[FaultMark]) -> list[Window]:
    """Return each fault's windows, from an injection to its next healing."""
    windows: list[Window] = []
    open_since: dict[str, datetime] = {}
    for mark in sorted(marks, key=lambda m: time_of(m.at) or datetime.min.replace(tzinfo=UTC)):
        at = time_of(mark.at)
        if at is None:
            continue
        if mark.phase == "inject":
            open_since.setdefault(mark.fault, at)
        elif mark.phase == "heal" and mark.fault in open_since:
            windows.append(Window(mark.fault, open_since.pop(mark.fault), at))
    return windows + [Window(fault, begin, None) for fault, begin in open_since.items()]
