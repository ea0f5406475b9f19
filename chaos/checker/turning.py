"""Where a story went wrong, rule by rule: how to find the moment, and what should have happened instead.

A finder gets the scenes of one order and returns the one at which it went wrong: one of them, or one that it makes up
of what is missing (a row that its relay has gone past). It may find none; the sentence is told all the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from gettext import gettext as _
from typing import TypeVar

from chaos.checker.evidence import Evidence
from chaos.checker.records import Applied, Copy, CreditNote, Delivery, Event, Intent, Invoice, Mail
from chaos.checker.scenes import Kind, Scene, Scenes, rows, scene, spot_of, time_of

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Case:
    """A counterexample with the scenes of its order."""

    event_id: str | None
    scenes: list[Scene]
    gathered: Scenes
    evidence: Evidence

    def of(self, kind: type[R]) -> Iterator[tuple[Scene, R]]:
        return ((each, each.row) for each in self.scenes if isinstance(each.row, kind))


Find = Callable[[Case], Scene | None]


def first_of(*finders: Find) -> Find:
    """Ask one finder after the other."""

    def find(case: Case) -> Scene | None:
        return next((found for finder in finders if (found := finder(case))), None)

    return find


# Requests and outboxes


def accepted(case: Case) -> Scene | None:
    return next((each for each, row in case.of(Intent) if row.op == "place" and row.result == "ok"), None)


def second_order(case: Case) -> Scene | None:
    """The answer that names another order than the first one did."""
    named = [(each, row.order_id) for each, row in case.of(Intent) if row.op == "place" and row.result == "ok"]
    return next((each for each, order_id in named if order_id != named[0][1]), None)


def written(case: Case) -> Scene | None:
    """The outbox row of the event in question, or the first one."""
    found = [(each, row) for each, row in case.of(Event)]
    return next((each for each, row in found if row.event_id == case.event_id), found[0][0] if found else None)


# The log


def passed_over(case: Case) -> Scene | None:
    """The moment at which a later row of the same lane stood in the log, and one of this order's rows did not."""
    firsts = case.evidence.first_copies if case.evidence.has("copies") else {}
    for missing in case.gathered.events:
        if missing.destination != "event" or missing.event_id in firsts:
            continue
        lane = missing.database, missing.destination, missing.lane
        later = [
            (copy.timestamp, event)
            for event in case.evidence.events
            if event.id > missing.id
            and (event.database, event.destination, event.lane) == lane
            and (copy := firsts.get(event.event_id))
            and copy.timestamp
        ]
        if later:
            return _passed_over(case, missing, *min(later, key=lambda found: found[0]))
    return None


def _passed_over(case: Case, missing: Event, at: str, sent: Event) -> Scene | None:
    moment = time_of(at)
    who = (moment and case.gathered.owners.relay(missing, moment)) or _("the relay")
    sentence = _("{who} sends row {later} and has not sent row {row}, {type} v{version}").format(
        who=who, later=sent.id, row=missing.id, type=missing.type, version=missing.version
    )
    return next(scene(at, Kind.LOG, sentence, missing, who, spot_of(missing)), None)


def overtaken(case: Case) -> Scene | None:
    """The first copy of a version that came into the log before the version that it follows.

    Offsets decide, and not the times of the copies: a producer stamps what it sends before it is appended.
    """
    seen: set[str | None] = set()
    latest: dict[str, int] = defaultdict(int)
    for copy in case.gathered.copies:
        if copy.event_id in seen or copy.version is None:
            continue
        seen.add(copy.event_id)
        if copy.version != latest[copy.topic] + 1:
            return next((each for each, row in case.of(Copy) if row is copy), None)
        latest[copy.topic] = copy.version
    return None


def second_partition(case: Case) -> Scene | None:
    home: dict[str, int] = {}
    return next(
        (each for each, copy in case.of(Copy) if home.setdefault(copy.topic, copy.partition) != copy.partition), None
    )


def altered(case: Case) -> Scene | None:
    said = {event.event_id: event.digest for event in case.gathered.events}
    return next(
        (each for each, copy in case.of(Copy) if said.setdefault(copy.event_id or "", copy.digest) != copy.digest), None
    )


def stranger(case: Case) -> Scene | None:
    known = {event.event_id for event in case.gathered.events}
    return next((each for each, copy in case.of(Copy) if copy.event_id not in known), None)


# Consumers


def gone_past(case: Case) -> Scene | None:
    """The first delivery, to a group that should have applied a copy, of something that stands behind it."""
    for group, topics in case.evidence.run.groups.items():
        taken = {row.event_id for row in rows(case.evidence, "inbox") if row.group == group}
        if not taken:
            continue
        for copy in case.gathered.copies:
            if copy.topic in topics and copy.event_id not in taken and (found := _behind(case, group, copy)):
                return found
    return None


def _behind(case: Case, group: str, copy: Copy) -> Scene | None:
    taken = case.evidence.inbox if case.evidence.has("inbox") else []
    applied = (
        (row.applied_at, row.offset)
        for row in taken
        if (row.group, row.topic, row.partition) == (group, copy.topic, copy.partition)
    )
    at, offset = min((found for found in applied if found[1] > copy.offset), default=(None, 0))
    moment = time_of(at)
    who = (moment and case.gathered.owners.member(group, copy.topic, copy.partition, moment)) or group
    sentence = _("{who} goes on with @{later}: {type} v{version} {where} lies behind, and had no effect").format(
        who=who, later=offset, type=copy.type, version=copy.version, where=copy.spot
    )
    return next(scene(at, Kind.DELIVERY, sentence, copy, who, copy.spot), None)


def marked_without_effect(case: Case) -> Scene | None:
    """Billing's inbox row for an order that it neither invoiced nor declined."""
    declined = {bill.order_id for bill in rows(case.evidence, "bills") if bill.state == "declined"}
    if case.gathered.invoices or any(event.aggregate_id in declined for event in case.gathered.events):
        return None
    return next((each for each, row in case.of(Applied) if row.group == "billing"), None)


def applied_early(case: Case) -> Scene | None:
    latest: dict[tuple[str, str], int] = defaultdict(int)
    for each, row in case.of(Applied):
        if row.version != latest[row.group, row.topic] + 1:
            return each
        latest[row.group, row.topic] = row.version
    return None


def late_effect(case: Case) -> Scene | None:
    """The effect of the event in question."""
    found = [each for each, row in case.of(Applied) if row.event_id == case.event_id]
    return found[-1] if found else None


def handled_again(case: Case) -> Scene | None:
    """The delivery of an event to a group that had handled it before, and did not know it again."""
    seen: set[tuple[str, str | None]] = set()
    of_delivery = {id(delivery): copy for delivery, copy in case.gathered.deliveries}
    for each, delivery in case.of(Delivery):
        handled = delivery.group, of_delivery[id(delivery)].event_id
        if not delivery.duplicate and handled in seen:
            return each
        seen.add(handled)
    return None


# Money and mail


def second_invoice(case: Case) -> Scene | None:
    return _second(case, Invoice) or _second(case, CreditNote)


def _second(case: Case, kind: type[Invoice] | type[CreditNote]) -> Scene | None:
    papers = [each for each, _row in case.of(kind)]
    return papers[1] if len(papers) > 1 else None


def wrong_amount(case: Case) -> Scene | None:
    """The first paper that says another amount than the customer's request."""
    asked = next(((row.amount_minor, row.currency) for _each, row in case.of(Intent) if row.result == "ok"), None)
    papers: list[tuple[Scene, Invoice | CreditNote]] = [*case.of(Invoice), *case.of(CreditNote)]
    return next((each for each, paper in papers if asked and (paper.amount_minor, paper.currency) != asked), None)


def any_invoice(case: Case) -> Scene | None:
    return next((each for each, _row in case.of(Invoice)), None)


def unasked_mail(case: Case) -> Scene | None:
    """The mail that no command asked for, the one under a second key, or the invoice that no mail followed."""
    commands = {event.event_id for event in case.gathered.events if event.destination == "command"}
    mails = [(each, mail) for each, mail in case.of(Mail)]
    unasked = next((each for each, mail in mails if mail.key not in commands), None)
    again = next((each for each, mail in mails if mail.key != mails[0][1].key), None)
    return unasked or again or any_invoice(case)


@dataclass(frozen=True, slots=True)
class Turn:
    find: Find
    should: str


def N_(sentence: str) -> str:
    """Mark a sentence for translation; it is translated where it is shown."""
    return sentence


UNFINISHED = first_of(second_invoice, wrong_amount, passed_over, gone_past, marked_without_effect, unasked_mail)

TURNS: Mapping[str, Turn] = {
    "S11": Turn(second_invoice, N_("Billing's inbox knows the event, and the second delivery changes nothing.")),
    "S24": Turn(second_order, N_("The key is known, and the second request is answered with the first order.")),
    "S14": Turn(wrong_amount, N_("The amount is handed on as the integer that the customer sent.")),
    "S05": Turn(passed_over, N_("The relay's position moves past a row only when the log has confirmed it.")),
    "S08": Turn(
        second_partition, N_("Every copy is sent with the order's id as its key, which chooses the partition.")
    ),
    "S09": Turn(overtaken, N_("One relay at a time owns the lane, and sends a version only behind the one before it.")),
    "S07": Turn(altered, N_("The relay sends the bytes that were written with the order, and looks nothing up.")),
    "S12": Turn(
        first_of(gone_past, marked_without_effect),
        N_("Inbox row, invoice or refusal are committed together, and only then the offset."),
    ),
    "S20": Turn(gone_past, N_("An offset is committed only after the effects of all that lies below it.")),
    "S18": Turn(unasked_mail, N_("One mail leaves for each invoice, by the outbox, under the key of its event.")),
    "S10": Turn(
        first_of(applied_early, gone_past), N_("A group applies version 2 only when version 1 has had its effect.")
    ),
    "S25": Turn(written, N_("An outage uses up no attempts: the row waits until the log can be reached again.")),
    "S22": Turn(first_of(stranger, written), N_("What is set aside has no effect until it is redriven.")),
    "S21": Turn(late_effect, N_("The member sees that its partition has gone to another, and commits nothing.")),
    "S13": Turn(any_invoice, N_("Only an order that was committed has an event, and only an event an invoice.")),
    "S06": Turn(stranger, N_("An event is sent from a committed row of the outbox, never before.")),
    "S04": Turn(first_of(written, accepted), N_("Order and event are written in one transaction: both, or neither.")),
    "S17": Turn(
        first_of(second_invoice, handled_again, gone_past, marked_without_effect),
        N_("The inbox row is written in the transaction of the effect: both once, or neither."),
    ),
    "S19": Turn(handled_again, N_("The inbox knows the event, and it is counted once.")),
    "S00": Turn(UNFINISHED, N_("The order goes its whole way once: one request, one outcome, and what was foretold.")),
    "S23": Turn(UNFINISHED, N_("Each step is taken once and told by an event, so that order and invoice end alike.")),
    "S15": Turn(first_of(second_invoice, wrong_amount), N_("What was ordered is billed once, and credited once.")),
    "S01": Turn(accepted, N_("An order is accepted only when its transaction has been committed.")),
    "S02": Turn(written, N_("A request that is refused rolls everything back.")),
    "S03": Turn(written, N_("An order comes from a request, and from nothing else.")),
    "S16": Turn(any_invoice, N_("The number is drawn from a locked row, in the transaction that uses it.")),
    "L01": Turn(passed_over, N_("After the healing, every row of the outbox reaches the log by itself.")),
    "L02": Turn(gone_past, N_("After the healing, every group reads to the end by itself.")),
    "L03": Turn(gone_past, N_("A group stands at an offset that its partition still has.")),
    "L04": Turn(any_invoice, N_("What the fault does not touch goes on working.")),
    "L05": Turn(any_invoice, N_("After the healing, what was owed is done within the bound.")),
}
"""The rules that tell a newcomer most come first; in this order stories are told."""


def suspect(invariant: str, evidence: Evidence) -> tuple[str, str] | None:
    """Name an order and an event for a rule that speaks of all orders at once: of something that was handled twice."""
    if invariant not in ("S17", "S19") or not evidence.has("deliveries") or not evidence.has("copies"):
        return None
    reached: dict[tuple[str, str, int], int] = {}
    for delivery in evidence.deliveries:
        if delivery.duplicate:
            continue
        partition = delivery.group, delivery.topic, delivery.partition
        if delivery.offset <= reached.get(partition, -1):
            return _standing_at(delivery, evidence)
        reached[partition] = delivery.last_offset
    return None


def _standing_at(delivery: Delivery, evidence: Evidence) -> tuple[str, str] | None:
    for copy in evidence.copies:
        if (copy.topic, copy.partition, copy.offset) == (delivery.topic, delivery.partition, delivery.offset):
            return (copy.aggregate_id, copy.event_id) if copy.aggregate_id and copy.event_id else None
    return None
