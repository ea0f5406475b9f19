"""A counterexample as a story: what happened to one order, in time order, with the fault windows marked.

order → outbox row → copies in the log → deliveries and what became of them → effects → mail. A story fits a screen:
when it is too long, the least telling moments give way and are counted. It never raises for missing evidence: a story
with holes is better than none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from gettext import gettext as _
from gettext import ngettext

from chaos.checker.evidence import Evidence
from chaos.checker.finding import Counterexample
from chaos.checker.records import Applied, Copy, Delivery, FaultMark

LONGEST = 22
"""Moments that fit a screen beside the heading."""


class Kind(StrEnum):
    """What a moment is about, the most telling first."""

    EFFECT = "effect"
    REQUEST = "request"
    OUTBOX = "outbox"
    LOG = "log"
    MAIL = "mail"
    FAULT = "fault"
    DELIVERY = "delivery"
    DUPLICATE = "duplicate"


@dataclass(frozen=True, slots=True)
class Moment:
    at: datetime
    kind: Kind
    what: str
    during: tuple[str, ...] = ()
    """The faults that were going on."""


@dataclass(frozen=True, slots=True)
class Story:
    invariant: str
    what: str
    order_id: str | None
    moments: tuple[Moment, ...]
    left_out: int


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
    order_id = example.order_id
    moments = sorted(_moments(order_id, evidence), key=lambda m: m.at) if order_id else []
    faults = _faults(evidence)
    if moments:
        moments = _with_faults(moments, faults)
    kept = _most_telling(moments, longest)
    windows = fault_windows(faults)
    marked = tuple(replace(m, during=tuple(w.fault for w in windows if w.holds(m.at))) for m in kept)
    return Story(invariant, example.what, order_id, marked, len(moments) - len(kept))


def to_text(story: Story) -> str:
    """Render a story for a terminal without colours; the faults that go on are named where that changes."""
    lines = [f"{story.invariant}: {story.what}"]
    before: tuple[str, ...] = ()
    for moment in story.moments:
        mark = "▌" if moment.during else " "
        time = f"{moment.at:%H:%M:%S}.{moment.at.microsecond // 1000:03d}"
        lines.append(f" {mark} {time}  {moment.kind:<9} {moment.what}{_changes(before, moment.during)}")
        before = moment.during
    if story.left_out:
        more = ngettext(
            "{count} less telling moment is left out", "{count} less telling moments are left out", story.left_out
        )
        lines.append("   … " + more.format(count=story.left_out))
    return "\n".join(lines)


def _changes(before: tuple[str, ...], during: tuple[str, ...]) -> str:
    begun = [f"◀ {fault}" for fault in during if fault not in before]
    ended = [_("◁ {fault} over").format(fault=fault) for fault in before if fault not in during]
    return "".join(f"  {change}" for change in (*begun, *ended))


def _most_telling(moments: list[Moment], longest: int) -> list[Moment]:
    if len(moments) <= longest:
        return moments
    rank = {kind: number for number, kind in enumerate(Kind)}
    kept = sorted(range(len(moments)), key=lambda i: (rank[moments[i].kind], i))[:longest]
    return [moments[i] for i in sorted(kept)]


def _moments(order_id: str, evidence: Evidence) -> Iterator[Moment]:
    if evidence.has("intents"):
        yield from _requests(order_id, evidence)
    if evidence.has("events"):
        yield from _written(order_id, evidence)
    if evidence.has("copies"):
        copies = [copy for copy in evidence.copies if copy.aggregate_id == order_id]
        yield from _logged(copies)
        yield from _delivered(order_id, copies, evidence)
    yield from _effects(order_id, evidence)
    if evidence.has("mails"):
        yield from _mailed(order_id, evidence)


def _requests(order_id: str, evidence: Evidence) -> Iterator[Moment]:
    refs = {attempt.order_ref for attempt in evidence.intents if attempt.order_id == order_id}
    for attempt in evidence.intents:
        if attempt.order_ref in refs:
            sentence = _("{op} for {amount} {currency} (key {key}): {result}, must end {expect}").format(
                op=attempt.op, amount=attempt.amount_minor, currency=attempt.currency, key=attempt.key or "-",
                result=attempt.result, expect=attempt.expect or "?",
            )  # fmt: skip
            yield from _moment(attempt.started_at, Kind.REQUEST, sentence)


def _written(order_id: str, evidence: Evidence) -> Iterator[Moment]:
    for event in evidence.events:
        if event.aggregate_id == order_id:
            sentence = _("{database}: {type} v{version} written into the outbox (row {row}, lane {lane})").format(
                database=event.database, type=event.type, version=event.version, row=event.id, lane=event.lane
            )
            yield from _moment(event.occurred_at, Kind.OUTBOX, sentence)


def _logged(copies: Iterable[Copy]) -> Iterator[Moment]:
    seen: set[str | None] = set()
    for copy in copies:
        again = _(" once more") if copy.event_id in seen else ""
        seen.add(copy.event_id)
        sentence = _("{type} v{version} stands in the log{again}: {where}").format(
            type=copy.type, version=copy.version, again=again, where=f"{copy.topic}/{copy.partition}@{copy.offset}"
        )
        yield from _moment(copy.timestamp, Kind.LOG, sentence)


def _delivered(order_id: str, copies: list[Copy], evidence: Evidence) -> Iterator[Moment]:
    applied = [row for row in evidence.inbox if row.aggregate_id == order_id] if evidence.has("inbox") else []
    if evidence.has("deliveries"):
        places: dict[tuple[str, int], list[Copy]] = {}
        for copy in copies:
            places.setdefault((copy.topic, copy.partition), []).append(copy)
        for delivery in evidence.deliveries:
            for copy in places.get((delivery.topic, delivery.partition), ()):
                if delivery.offset <= copy.offset <= delivery.last_offset:
                    yield from _delivery(delivery, copy, applied)
    for row in applied:
        sentence = _("{group} applied v{version} from {topic}/{partition}@{offset} ({member}, generation {generation})")
        yield from _moment(row.applied_at, Kind.EFFECT, sentence.format(**row._asdict()))


def _delivery(delivery: Delivery, copy: Copy, applied: list[Applied]) -> Iterator[Moment]:
    took_effect = any(
        row.group == delivery.group and row.event_id == copy.event_id and row.offset == copy.offset for row in applied
    )
    if delivery.duplicate:
        fate = _("recognised as a duplicate, nothing changed")
    else:
        fate = _("applied") if took_effect else _("handled, and the inbox does not say so")
    sentence = _("{instance} of {group}, generation {generation}, was given {event} @{offset}: {fate}").format(
        instance=delivery.instance, group=delivery.group, generation=delivery.generation,
        event=f"{copy.type} v{copy.version}", offset=copy.offset, fate=fate,
    )  # fmt: skip
    yield from _moment(delivery.at, Kind.DUPLICATE if delivery.duplicate else Kind.DELIVERY, sentence)


def _effects(order_id: str, evidence: Evidence) -> Iterator[Moment]:
    for invoice in evidence.invoices if evidence.has("invoices") else ():
        if invoice.order_id == order_id:
            sentence = _("billing: invoice {number} over {amount} {currency}").format(
                number=invoice.number, amount=invoice.amount_minor, currency=invoice.currency
            )
            yield from _moment(invoice.applied_at, Kind.EFFECT, sentence)
    for note in evidence.credit_notes if evidence.has("credit_notes") else ():
        if note.order_id == order_id:
            sentence = _("billing: credit note {number} over {amount} {currency}").format(
                number=note.number, amount=note.amount_minor, currency=note.currency
            )
            yield from _moment(note.issued_at, Kind.EFFECT, sentence)


def _mailed(order_id: str, evidence: Evidence) -> Iterator[Moment]:
    keys = {e.event_id for e in evidence.events if e.aggregate_id == order_id} if evidence.has("events") else set()
    for mail in evidence.mails:
        if mail.order_id == order_id or mail.key in keys:
            sentence = _("mail to {recipient} with invoice {number}, key {key}").format(
                recipient=mail.recipient, number=mail.invoice_number, key=mail.key
            )
            yield from _moment(mail.at, Kind.MAIL, sentence)


def _faults(evidence: Evidence) -> list[FaultMark]:
    marks = evidence.faults if evidence.has("faults") else []
    return [mark for mark in marks if time_of(mark.at)]


def _with_faults(moments: list[Moment], marks: list[FaultMark]) -> list[Moment]:
    """Add the hits and healings that fall into the story's own time."""
    first, last = moments[0].at, moments[-1].at
    struck = []
    for mark in marks:
        at = time_of(mark.at)
        if at and first <= at <= last and mark.phase in ("hit", "heal"):
            what = _("{fault}: {phase} {target}").format(fault=mark.fault, phase=mark.phase, target=mark.target or "")
            struck.append(Moment(at, Kind.FAULT, f"{what} {mark.failpoint or mark.detail or ''}".strip()))
    return sorted(moments + struck, key=lambda m: m.at)


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


def _moment(at: str | None, kind: Kind, what: str) -> Iterator[Moment]:
    """Yield the moment if its time can be told."""
    moment = time_of(at)
    if moment:
        yield Moment(moment, kind, what)


def time_of(text: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
