"""S05-S09: the outbox and the log agree, and the log keeps each aggregate together and in order.

Copies beyond the first are normal: a relay that was killed after it published sends again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from gettext import gettext as _
from operator import ne
from typing import Any

from chaos.checker.columnwise import Columnwise, Place, places_of
from chaos.checker.evidence import Evidence
from chaos.checker.finding import Counterexample
from chaos.checker.lines import Unusable
from chaos.checker.records import Copy, Event


def settled_is_in_log(evidence: Evidence) -> Iterator[Counterexample]:
    """S05: what the relay's position covers is in the log, unless it was parked."""
    positions = evidence.positions
    for event in evidence.unpublished:
        position = positions.get((event.database, event.destination, event.lane))
        if position is None:
            raise Unusable(
                _("the {database} database has no relay position for lane {lane}").format(
                    database=event.database, lane=event.lane
                )
            )
        if position.settled(event):
            yield Counterexample(
                _("the relay has settled {event}, and it is not in the log").format(event=name(event)),
                event.aggregate_id,
                event.event_id,
            )


def log_is_from_outbox(evidence: Evidence) -> Iterator[Counterexample]:
    """S06: every message in the log was written into an outbox first."""
    poisoned = evidence.poisoned
    for copy in evidence.copies.outside("event_id", evidence.event_of.places):
        if not poisoned.isdisjoint((copy.event_id, copy.aggregate_id, copy.spot)):
            continue
        yield Counterexample(
            _("{copy} is in the log, and no outbox has it").format(copy=place(copy)), copy.aggregate_id, copy.event_id
        )


def immutable(evidence: Evidence) -> Iterator[Counterexample]:
    """S07: every copy of an event says the same, byte for byte, as when it was written."""
    for here, original in sorted(_altered(evidence).items()):
        copy = evidence.copies[here]
        yield Counterexample(
            _("{copy} differs from the event as it was written ({differs})").format(
                copy=place(copy), differs=_difference(copy, original)
            ),
            copy.aggregate_id,
            copy.event_id,
        )


def _altered(evidence: Evidence) -> dict[Place, Event | Copy]:
    """Return where copies stand that differ from the event; of what no outbox has, from its first copy."""
    copies, events, firsts = evidence.copies, evidence.events, evidence.first_copies.places
    ids = copies.column("event_id")
    written = [*map(evidence.event_of.places.get, ids)]
    known = [here for here, event in enumerate(written) if event is not None]
    unlike = _unlike(copies, known, events, [event for event in written if event is not None])
    altered: dict[Place, Event | Copy] = {here: events[event] for here, event in unlike}
    strangers = [here for here, event in enumerate(written) if event is None and ids[here] is not None]
    unlike = _unlike(copies, strangers, copies, [firsts[ids[here]] for here in strangers])
    return altered | {here: copies[first] for here, first in unlike}


CONTENT = ("digest", "type", "aggregate_type", "aggregate_id", "version")


def _unlike(
    copies: Columnwise[Copy], places: Sequence[Place], written: Columnwise[Any], at: Sequence[Place]
) -> Iterator[tuple[Place, Place]]:
    """Yield where copies stand that differ from what was written, and where that stands."""
    for column in CONTENT:
        for number in places_of(map(ne, copies.column_at(places, column), written.column_at(at, column))):
            yield places[number], at[number]


def _identity(row: Event | Copy) -> tuple[object, ...]:
    return row.type, row.aggregate_type, row.aggregate_id, row.version


def _difference(copy: Copy, written: Event | Copy) -> str:
    if _identity(copy) != _identity(written):
        return f"{_identity(copy)} ≠ {_identity(written)}"
    return _("payload {copy}… instead of {written}…").format(
        copy=copy.digest.hex()[:12], written=written.digest.hex()[:12]
    )


def one_partition(evidence: Evidence) -> Iterator[Counterexample]:
    """S08: all copies of all events of an aggregate are in one partition."""
    copies = evidence.copies
    homes: dict[str, dict[str, int]] = defaultdict(dict)
    for number, (topic, partition, aggregate_id) in enumerate(copies.columns("topic", "partition", "aggregate_id")):
        if aggregate_id is None:
            continue
        home = homes[topic].setdefault(aggregate_id, partition)
        if home != partition:
            copy = copies[number]
            yield Counterexample(
                _("{copy} is in partition {partition}, and earlier ones of its aggregate are in {home}").format(
                    copy=place(copy), partition=copy.partition, home=home
                ),
                copy.aggregate_id,
                copy.event_id,
            )


def log_order(evidence: Evidence) -> Iterator[Counterexample]:
    """S09: first copies of an aggregate's events stand in the log in the order of their versions."""
    copies, firsts = evidence.copies, [*evidence.first_copies.places.values()]
    latest: dict[tuple[str, int], dict[str, int]] = defaultdict(dict)
    rows = copies.numbered(firsts, "topic", "partition", "aggregate_id", "version")
    for number, (topic, partition, aggregate_id, version) in rows:
        if aggregate_id is None or version is None:
            continue
        versions = latest[topic, partition]
        before = versions.get(aggregate_id, 0)
        if version > before:
            versions[aggregate_id] = version
            continue
        copy = copies[number]
        yield Counterexample(
            _("{copy} first came into the log after version {before} of the same aggregate").format(
                copy=place(copy), before=before
            ),
            aggregate_id,
            copy.event_id,
        )


def name(event: Event) -> str:
    return f"{event.type} v{event.version} {_('of')} {event.aggregate_id} ({_('row')} {event.id})"


def place(copy: Copy) -> str:
    """Name a copy the way people look it up: what it is, and where."""
    what = f"{copy.type or '?'} v{copy.version or '?'} {_('of')} {copy.aggregate_id or '?'}"
    return f"{what} ({copy.spot})"
