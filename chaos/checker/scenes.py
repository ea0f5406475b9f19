"""What happened to one order, gathered from all journals: one scene for each row of evidence that speaks of it.

order → outbox row → copies in the log → deliveries and what became of them → effects → mail. Who published a copy and
who held a partition is read from the owners' journal, if there is one. It never raises for missing evidence: a story
with holes is better than none.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from gettext import gettext as _
from typing import Any

from chaos.checker.evidence import Evidence
from chaos.checker.records import Applied, Copy, CreditNote, Delivery, Event, Intent, Invoice, Mail


class Kind(StrEnum):
    """What a moment is about."""

    EFFECT = "effect"
    REQUEST = "request"
    MAIL = "mail"
    OUTBOX = "outbox"
    LOG = "log"
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
    who: str | None = None
    """The relay or the member."""
    where: str | None = None
    """A place in the log, or a row of an outbox."""


Row = Intent | Event | Copy | Delivery | Applied | Invoice | CreditNote | Mail


@dataclass(frozen=True, slots=True)
class Scene:
    """A moment, and the row that tells of it."""

    moment: Moment
    row: Row | None = None

    @property
    def at(self) -> datetime:
        return self.moment.at


class Owners:
    """Who held which lane or partition at a moment."""

    def __init__(self, evidence: Evidence) -> None:
        self._taken: dict[tuple[str, str], list[tuple[datetime, str]]] = defaultdict(list)
        for mark in rows(evidence, "owners"):
            at = time_of(mark.at)
            if mark.what == "taken" and at:
                self._taken[mark.of, mark.unit].append((at, mark.instance))
        for found in self._taken.values():
            found.sort()

    def member(self, group: str, topic: str, partition: int, at: datetime) -> str | None:
        return self._holder((group, f"{topic}/{partition}"), at)

    def relay(self, event: Event, at: datetime) -> str | None:
        return self._holder((f"{event.database}: {event.destination}s", f"lane {event.lane}"), at)

    def _holder(self, unit: tuple[str, str], at: datetime) -> str | None:
        taken = self._taken.get(unit, [])
        place = bisect_right(taken, at, key=lambda mark: mark[0])
        return taken[place - 1][1] if place else None


class Scenes:
    """Gathers the scenes of one order."""

    def __init__(self, order_id: str, evidence: Evidence) -> None:
        self._order_id = order_id
        self._evidence = evidence
        self.owners = Owners(evidence)
        self.copies = [copy for copy in rows(evidence, "copies") if copy.aggregate_id == order_id]
        self.events = [event for event in rows(evidence, "events") if event.aggregate_id == order_id]
        self.applied = [row for row in rows(evidence, "inbox") if row.aggregate_id == order_id]
        self.invoices = [row for row in rows(evidence, "invoices") if row.order_id == order_id]
        self.deliveries = list(self._deliveries_of(self.copies))

    def all(self) -> list[Scene]:
        """Return the scenes in time order."""
        scenes = [
            *self._requests(), *self._written(), *self._logged(), *self._delivered(), *self._applied(),
            *self._invoiced(), *self._credited(), *self._mailed(),
        ]  # fmt: skip
        return sorted(scenes, key=lambda scene: scene.at)

    def _requests(self) -> Iterator[Scene]:
        attempts = rows(self._evidence, "intents")
        refs = {attempt.order_ref for attempt in attempts if attempt.order_id == self._order_id}
        for attempt in attempts:
            if attempt.order_ref in refs:
                key, order = (attempt.key or "-")[:8], f"…{attempt.order_id[-8:]}" if attempt.order_id else "?"
                sentence = _(
                    "{op} for {amount} {currency}, key {key}: {result}, order {order}; must end {expect}"
                ).format(
                    op=attempt.op, amount=attempt.amount_minor, currency=attempt.currency, key=key,
                    result=attempt.result, order=order, expect=attempt.expect or "?",
                )  # fmt: skip
                where = _("the answer to key {key}, order {order}").format(key=key, order=order)
                yield from scene(attempt.started_at, Kind.REQUEST, sentence, attempt, who=_("orders"), where=where)

    def _written(self) -> Iterator[Scene]:
        for event in self.events:
            sentence = _("{database}: {type} v{version} written, row {row}, lane {lane}").format(
                database=event.database, type=event.type, version=event.version, row=event.id, lane=event.lane
            )
            yield from scene(event.occurred_at, Kind.OUTBOX, sentence, event, who=event.database, where=spot_of(event))

    def _logged(self) -> Iterator[Scene]:
        written = {event.event_id: event for event in self.events}
        seen: set[str | None] = set()
        appended: dict[tuple[str, int], str] = {}
        for copy in self.copies:
            # A producer stamps what it sends before it is appended; nothing is appended before a lower offset is.
            partition = copy.topic, copy.partition
            moment = appended[partition] = max(copy.timestamp or "", appended.get(partition, ""))
            at, event = time_of(copy.timestamp), written.get(copy.event_id or "")
            who = self.owners.relay(event, at) if event and at else None
            sentence = _("{type} v{version} in the log at {where}{by}{again}").format(
                type=copy.type, version=copy.version, where=copy.spot,
                by=_(", sent by {who}").format(who=who) if who else "",
                again=_(", once more") if copy.event_id in seen else "",
            )  # fmt: skip
            seen.add(copy.event_id)
            yield from scene(moment, Kind.LOG, sentence, copy, who=who, where=copy.spot)

    def _deliveries_of(self, copies: Iterable[Copy]) -> Iterator[tuple[Delivery, Copy]]:
        places: dict[tuple[str, int], list[Copy]] = defaultdict(list)
        for copy in copies:
            places[copy.topic, copy.partition].append(copy)
        for delivery in rows(self._evidence, "deliveries"):
            for copy in places.get((delivery.topic, delivery.partition), ()):
                if delivery.offset <= copy.offset <= delivery.last_offset:
                    yield delivery, copy

    def _delivered(self) -> Iterator[Scene]:
        took_effect = {(row.group, row.event_id, row.offset) for row in self.applied}
        for delivery, copy in self.deliveries:
            kind = Kind.DUPLICATE if delivery.duplicate else Kind.DELIVERY
            if delivery.duplicate:
                fate = _("known, nothing changed")
            elif (delivery.group, copy.event_id, copy.offset) in took_effect:
                fate = _("applied")
            else:
                fate = _("handled, and no inbox row says so")
            sentence = _("{who}: {type} v{version} {where}: {fate}").format(
                who=delivery.instance, type=copy.type, version=copy.version, where=copy.spot, fate=fate
            )
            yield from scene(delivery.at, kind, sentence, delivery, who=delivery.instance, where=copy.spot)

    def _applied(self) -> Iterator[Scene]:
        for row in self.applied:
            at = time_of(row.applied_at)
            who = (at and self.owners.member(row.group, row.topic, row.partition, at)) or row.member
            where = f"{row.topic}/{row.partition}@{row.offset}"
            sentence = _("{who} (generation {generation}) applied v{version} of {where}").format(
                who=who, generation=row.generation, version=row.version, where=where
            )
            yield from scene(row.applied_at, Kind.EFFECT, sentence, row, who=who, where=where)

    def _invoiced(self) -> Iterator[Scene]:
        for invoice in self.invoices:
            who, where = self._who_invoiced(invoice)
            sentence = _("{who}: invoice {number} over {amount} {currency}").format(
                who=who or "billing", number=invoice.number, amount=invoice.amount_minor, currency=invoice.currency
            )
            yield from scene(invoice.applied_at, Kind.EFFECT, sentence, invoice, who=who, where=where)

    def _who_invoiced(self, invoice: Invoice) -> tuple[str | None, str | None]:
        """Return the member and the copy by which an invoice came: the delivery told of next, or whoever was in charge.

        A member that is killed before it has told of its batch leaves no delivery; the next one is another invoice's.
        """
        at = time_of(invoice.applied_at)
        copy = next((copy for copy in self.copies if copy.event_id == invoice.event_id), None)
        if at is None or copy is None:
            return None, None
        later = [when for row in self.invoices if row.event_id == invoice.event_id
                 if (when := time_of(row.applied_at)) and when > at]  # fmt: skip
        for delivery, of in sorted(self.deliveries, key=lambda found: found[0].at):
            told = time_of(delivery.at)
            mine = delivery.group == "billing" and of.event_id == invoice.event_id and not delivery.duplicate
            if mine and told and told >= at and not any(when <= told for when in later):
                return delivery.instance, of.spot
        return self.owners.member("billing", copy.topic, copy.partition, at), copy.spot

    def _credited(self) -> Iterator[Scene]:
        for note in rows(self._evidence, "credit_notes"):
            if note.order_id == self._order_id:
                sentence = _("billing: credit note {number} over {amount} {currency}").format(
                    number=note.number, amount=note.amount_minor, currency=note.currency
                )
                yield from scene(note.issued_at, Kind.EFFECT, sentence, note)

    def _mailed(self) -> Iterator[Scene]:
        keys = {event.event_id for event in self.events}
        for mail in rows(self._evidence, "mails"):
            if mail.order_id == self._order_id or mail.key in keys:
                sentence = _("invoice {number} to {recipient}, key {key}").format(
                    recipient=mail.recipient, number=mail.invoice_number, key=f"…{mail.key[-12:]}"
                )
                where = _("the mailbox of {recipient}").format(recipient=mail.recipient)
                yield from scene(mail.at, Kind.MAIL, sentence, mail, where=where)


def spot_of(event: Event) -> str:
    """Name a row of an outbox the way people look it up."""
    return _("{database} outbox, row {row}, lane {lane}").format(database=event.database, row=event.id, lane=event.lane)


def scene(
    at: str | None, kind: Kind, what: str, row: Row | None, who: str | None = None, where: str | None = None
) -> Iterator[Scene]:
    """Yield the scene if its time can be told."""
    moment = time_of(at)
    if moment:
        yield Scene(Moment(moment, kind, what, (), who, where), row)


def rows(evidence: Evidence, table: str) -> Sequence[Any]:
    return evidence.table(table) if evidence.has(table) else []


def time_of(text: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
