"""W01-W06, W08: did this run try the guarantees at all? A run that nothing happened in proves nothing.

W07 is not here: it asks about the checker, and the judge answers it from the canaries.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from gettext import gettext as _
from itertools import islice
from operator import attrgetter, itemgetter

from chaos.checker.evidence import Evidence
from chaos.checker.finding import Counterexample, NotApplicable
from chaos.checker.invariants.orders import INVOICED, accepted_as, allowed_ends
from chaos.checker.recovery import when

LOG, DELIVERIES = "log", "deliveries"
BLOW_SECONDS = 1.0


def faults_hit(evidence: Evidence) -> Iterator[Counterexample]:
    """W01: every fault has struck, with evidence of it."""
    hit = {mark.fault for mark in evidence.faults if mark.phase == "hit"}
    injected = {mark.fault for mark in evidence.faults if mark.phase == "inject"}
    wanted = injected | set(evidence.run.expect.get("faults", ()))
    if not wanted:
        raise NotApplicable(_("this scenario has no faults"))
    for fault in sorted(wanted - hit):
        yield Counterexample(_("the fault {fault} left no evidence that it struck").format(fault=fault))


def duplicates_appeared(evidence: Evidence) -> Iterator[Counterexample]:
    """W02: the duplicates that the faults were to cause did appear."""
    kinds = _kinds(evidence)
    if not kinds:
        raise NotApplicable(_("this scenario expects no duplicates"))
    found = {kind: COUNTS[kind](evidence) for kind in kinds}
    if evidence.run.expect.get("duplicates") is True and any(found.values()):
        return
    for kind in sorted(kinds):
        if not found[kind]:
            yield Counterexample(_("no duplicate appeared among the {kind}").format(kind=_of_kind(kind)))


def _of_kind(kind: str) -> str:
    return _("copies in the log") if kind == LOG else _("deliveries")


def _kinds(evidence: Evidence) -> frozenset[str]:
    expected = evidence.run.expect.get("duplicates")
    if isinstance(expected, list | tuple):
        return frozenset(expected)
    return frozenset({LOG, DELIVERIES}) if expected else frozenset()


def _second_copies(evidence: Evidence) -> int:
    unreadable = evidence.copies.column("event_id").count(None)
    return len(evidence.copies) - unreadable - len(evidence.first_copies)


def _second_deliveries(evidence: Evidence) -> int:
    return sum(delivery.duplicate for delivery in evidence.deliveries)


COUNTS: Mapping[str, Callable[[Evidence], int]] = {LOG: _second_copies, DELIVERIES: _second_deliveries}


def duplicate_suppressed(evidence: Evidence) -> Iterator[Counterexample]:
    """W03: at least one duplicate met the inbox and was turned away."""
    expect = evidence.run.expect
    if not expect.get("suppressed", DELIVERIES in _kinds(evidence)):
        raise NotApplicable(_("this scenario expects no duplicate at an inbox"))
    if not any(delivery.duplicate for delivery in evidence.deliveries):
        yield Counterexample(_("no member ever turned a duplicate away"))


def every_operation_succeeded(evidence: Evidence) -> Iterator[Counterexample]:
    """W04: every kind of operation succeeded at least once."""
    attempted = {attempt.op for attempt in evidence.intents} | {INVOICED}
    wanted = set(evidence.run.expect.get("operations", attempted))
    for kind in sorted(wanted - _succeeded(evidence, wanted)):
        yield Counterexample(_("not one {kind} succeeded").format(kind=kind))


def _succeeded(evidence: Evidence, wanted: set[str]) -> set[str]:
    done = {attempt.op for attempt in evidence.intents if attempt.result == "ok"}
    if any(attempt.result == "ok" and attempt.replayed for attempt in evidence.intents):
        done.add("replayed")
    for attempts in evidence.attempts_of.values():
        if done >= wanted:
            break
        ends = allowed_ends(attempts)
        if len(ends) == 1 and accepted_as(attempts):
            done |= ends
    return done


def fault_met_work(evidence: Evidence) -> Iterator[Counterexample]:
    """W05: at least one fault struck while an order was on its way to its invoice.

    A blow lasts: whoever was killed or stopped is missed for a second at least.
    """
    if not evidence.run.expect.get("overlap"):
        raise NotApplicable(_("this scenario does not ask for work in flight"))
    places, written = evidence.event_of.places, evidence.events.column("occurred_at")
    spans = [(when(written[places[i.event_id]]), when(i.applied_at)) for i in evidence.invoices if i.event_id in places]
    begins, ends = sorted(span[0] for span in spans), sorted(span[1] for span in spans)
    hits = (when(mark.at) for mark in evidence.faults if mark.phase == "hit")
    if not any(bisect_right(begins, hit + BLOW_SECONDS) > bisect_left(ends, hit) for hit in hits):
        yield Counterexample(_("no fault struck while an order was on its way"))


def owner_changed(evidence: Evidence) -> Iterator[Counterexample]:
    """W06: a partition went from one process of its group to another; a restart of the same one is not counted."""
    expected = evidence.run.expect.get("owner_change")
    if not expected:
        raise NotApplicable(_("this scenario expects no partition to change its owner"))
    moved = _groups_with_a_change(evidence)
    if isinstance(expected, list | tuple):
        for group in sorted(frozenset(expected) - moved):
            yield Counterexample(_("no partition of group {group} changed its owner").format(group=group))
    elif not moved:
        yield Counterexample(_("no partition changed its owner"))


def _groups_with_a_change(evidence: Evidence) -> frozenset[str]:
    seen = {*map(attrgetter("group", "topic", "partition", "instance"), evidence.deliveries)}
    owners = Counter(map(itemgetter(slice(3)), seen))
    return frozenset(group for (group, _topic, _partition), count in owners.items() if count > 1)


def enough_pending_pairs(evidence: Evidence) -> Iterator[Counterexample]:
    """W08: enough aggregates had two events waiting at once; without that, order is kept by chance."""
    wanted = evidence.run.expect.get("pending_pairs")
    if not wanted:
        raise NotApplicable(_("this scenario does not ask for bursts on one order"))
    found = sum(1 for _pair in islice(pending_pairs(evidence), wanted))
    if found < wanted:
        yield Counterexample(
            _("{found} orders had two events pending at once; at least {wanted} are needed").format(
                found=found, wanted=wanted
            )
        )


def pending_pairs(evidence: Evidence) -> Iterator[str]:
    """Yield each order whose second event was written before its first one stood in the log."""
    first_copies = evidence.first_copies
    for order_id, places in evidence.events_of_order.items():
        if len(places) < 2:
            continue
        first, second = sorted(evidence.events.at(places), key=lambda event: event.version)[:2]
        copy = first_copies.get(first.event_id)
        if copy is None or copy.timestamp is None or when(second.occurred_at) <= when(copy.timestamp):
            yield order_id
