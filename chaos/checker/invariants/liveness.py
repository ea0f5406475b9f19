"""L01-L05: after the healing everything that was owed is delivered, within a bound."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from gettext import gettext as _

from chaos.checker.evidence import Evidence
from chaos.checker.finding import Counterexample, NotApplicable
from chaos.checker.invariants.log import name
from chaos.checker.records import Copy, Intent, Mark
from chaos.checker.recovery import healed_at, owed, when

_SERVER_ERROR = 500


def all_published(evidence: Evidence) -> Iterator[Counterexample]:
    """L01: every event of an outbox is in the log, or parked. The relay's own position is not asked."""
    for event in evidence.unpublished:
        yield Counterexample(
            _("{event} never reached the log").format(event=name(event)), event.aggregate_id, event.event_id
        )


def nothing_behind(evidence: Evidence) -> Iterator[Counterexample]:
    """L02: every group has read its topics to the end."""
    for group, topics in evidence.run.groups.items():
        marks = [mark for mark in evidence.marks if mark.group == group]
        for topic in topics:
            if not any(mark.topic == topic for mark in marks):
                yield Counterexample(_("group {group} knows nothing of {topic}").format(group=group, topic=topic))
        for mark in marks:
            behind = mark.end - max(mark.low, mark.committed or mark.low)
            if behind > 0:
                yield Counterexample(
                    _("group {group} is {behind} messages behind on {place}").format(
                        group=group, behind=behind, place=_place(mark)
                    )
                )


def offsets_in_range(evidence: Evidence) -> Iterator[Counterexample]:
    """L03: a committed offset lies within what the partition has."""
    for mark in evidence.marks:
        if mark.committed is not None and not mark.low <= mark.committed <= mark.end:
            yield Counterexample(
                _("group {group} stands at {committed} on {place}, which holds {low} to {end}").format(
                    group=mark.group, committed=mark.committed, place=_place(mark), low=mark.low, end=mark.end
                )
            )


def _place(mark: Mark) -> str:
    return f"{mark.topic}/{mark.partition}"


def progress_under_faults(evidence: Evidence) -> Iterator[Counterexample]:
    """L04: invoices were issued while the faults went on, and nobody waited for longer than the scenario allows."""
    bound = evidence.run.expect.get("longest_wait_seconds")
    patience = evidence.run.expect.get("longest_answer_seconds")
    if bound is None and patience is None and not evidence.run.expect.get("progress"):
        raise NotApplicable(_("this scenario does not ask for progress during its faults"))
    begun = [when(mark.at) for mark in evidence.faults if mark.phase == "inject"]
    healed = [when(mark.at) for mark in evidence.faults if mark.phase == "heal"]
    if not begun or not healed:
        raise NotApplicable(_("no fault was injected and healed"))
    first, last = min(begun), max(healed)
    if not any(first <= when(invoice.applied_at) <= last for invoice in evidence.invoices):
        sentence = _("not one invoice was issued in the {seconds:.1f} s between the first fault and the last healing")
        yield Counterexample(sentence.format(seconds=last - first))
    if bound is not None:
        yield from _waited_longer(evidence, bound, first, last)
    if patience is not None:
        yield from _answered_later(evidence, patience, first, last)


def _waited_longer(evidence: Evidence, bound: float, first: float, last: float) -> Iterator[Counterexample]:
    """What came into the log between two moments and was not applied by a group within the bound."""
    came = {copy.event_id: copy for copy in _within(evidence.first_copies.values(), first, last)}
    for applied in evidence.inbox.among("event_id", came):
        copy = came[applied.event_id]
        if (waited := when(applied.applied_at) - when(str(copy.timestamp))) > bound:
            sentence = _("{event} waited {waited:.1f} s at {spot} for group {group}; the bound is {bound} s")
            yield Counterexample(
                sentence.format(event=copy.type, waited=waited, spot=copy.spot, group=applied.group, bound=bound),
                applied.aggregate_id,
                applied.event_id,
            )


def _within(copies: Iterable[Copy], first: float, last: float) -> Iterator[Copy]:
    return (copy for copy in copies if copy.timestamp is not None and first <= when(copy.timestamp) <= last)


def _answered_later(evidence: Evidence, patience: float, first: float, last: float) -> Iterator[Counterexample]:
    """What customers asked for between two moments and got a 5xx, or no answer within their patience.

    Whoever has to ask again waits on: the time counts from the first attempt.
    """
    attempts = [attempt for attempt in evidence.intents if first <= when(attempt.started_at) <= last]
    begun = {_request(attempt): when(attempt.started_at) for attempt in sorted(attempts, key=_newest_first)}
    for attempt in attempts:
        if attempt.status is not None and attempt.status >= _SERVER_ERROR:
            sentence = _("the attempt {n} to {op} {order} was answered with {status}")
            yield Counterexample(
                sentence.format(n=attempt.n, op=attempt.op, order=attempt.order_ref, status=attempt.status),
                attempt.order_id,
            )
        if attempt.ended_at is None:
            continue
        if (waited := when(attempt.ended_at) - begun[_request(attempt)]) > patience:
            sentence = _("whoever asked to {op} {order} waited {waited:.1f} s for an answer; the bound is {patience} s")
            yield Counterexample(
                sentence.format(op=attempt.op, order=attempt.order_ref, waited=waited, patience=patience),
                attempt.order_id,
            )


def _newest_first(attempt: Intent) -> float:
    return -when(attempt.started_at)


def _request(attempt: Intent) -> tuple[object, ...]:
    """What a customer asks for, however often: by key and order, or by the order to cancel."""
    return attempt.op, attempt.key, attempt.order_ref


def recovery_in_time(evidence: Evidence) -> Iterator[Counterexample]:
    """L05: the last invoice of what was ordered before the last healing came within the bound."""
    bound = evidence.run.expect.get("recovery_seconds")
    if bound is None:
        raise NotApplicable(_("this scenario sets no bound for its recovery"))
    healed = healed_at(evidence)
    if healed is None:
        raise NotApplicable(_("no fault was healed"))
    for invoice, late in owed(evidence, healed):
        if late > bound:
            yield Counterexample(
                _("invoice {number} came {late:.1f} s after the healing; the bound is {bound} s").format(
                    number=invoice.number, late=late, bound=bound
                ),
                invoice.order_id,
                invoice.event_id,
            )
