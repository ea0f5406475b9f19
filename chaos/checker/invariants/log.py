"""S05-S09: the outbox and the log agree, and the log keeps each aggregate together and in order.

Copies beyond the first are normal: a relay that was killed after it published sends again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from gettext import gettext as _
from itertools import compress
from operator import attrgetter, ne

from chaos.checker.evidence import Evidence
from chaos.checker.finding import Counterexample
from chaos.checker.lines import Unusable
from chaos.checker.records import Copy, Event
from chaos.checker.rows import EVENT_ID, outside


def settled_is_in_log(evidence: Evidence) -> Iterator[Counterexample]:
    """S05: what the relay's position covers is in the log, unless it was parked."""
    in_log, positions, parked = evidence.first_copies, evidence.positions, evidence.parked_event_ids
    for event in outside(evidence.events, EVENT_ID, in_log):
        if event.destination != "event" or event.event_id in parked:
            continue
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
    events, poisoned = evidence.event_of, evidence.poisoned
    for copy in outside(evidence.copies, EVENT_ID, events):
        if not poisoned.isdisjoint((copy.event_id, copy.aggregate_id, copy.spot)):
            continue
        yield Counterexample(
            _("{copy} is in the log, and no outbox has it").format(copy=place(copy)), copy.aggregate_id, copy.event_id
        )


def immutable(evidence: Evidence) -> Iterator[Counterexample]:
    """S07: every copy of an event says the same, byte for byte, as when it was written."""
    events, firsts = evidence.event_of, evidence.first_copies

    def as_written(event_id: str) -> Event | Copy:
        """Return the event; of one that no outbox has, its first copy."""
        return events.get(event_id) or firsts[event_id]

    copies = [copy for copy in evidence.copies if copy.event_id is not None]
    written = map(as_written, map(EVENT_ID, copies))
    for copy in compress(copies, map(ne, map(CONTENT, copies), map(CONTENT, written))):
        original = as_written(str(copy.event_id))
        yield Counterexample(
            _("{copy} differs from the event as it was written ({differs})").format(
                copy=place(copy), differs=_difference(copy, original)
            ),
            copy.aggregate_id,
            copy.event_id,
        )


def _identity(row: Event | Copy) -> tuple[object, ...]:
    return row.type, row.aggregate_type, row.aggregate_id, row.version


CONTENT = attrgetter("digest", "type", "aggregate_type", "aggregate_id", "version")


def _difference(copy: Copy, written: Event | Copy) -> str:
    if _identity(copy) != _identity(written):
        return f"{_identity(copy)} ≠ {_identity(written)}"
    return _("payload {copy}… instead of {written}…").format(
        copy=copy.digest.hex()[:12], written=written.digest.hex()[:12]
    )


def one_partition(evidence: Evidence) -> Iterator[Counterexample]:
    """S08: all copies of all events of an aggregate are in one partition."""
    homes: dict[tuple[str, str], int] = {}
    for copy in evidence.copies:
        if copy.aggregate_id is None:
            continue
        home = homes.setdefault((copy.topic, copy.aggregate_id), copy.partition)
        if home != copy.partition:
            yield Counterexample(
                _("{copy} is in partition {partition}, and earlier ones of its aggregate are in {home}").format(
                    copy=place(copy), partition=copy.partition, home=home
                ),
                copy.aggregate_id,
                copy.event_id,
            )


def log_order(evidence: Evidence) -> Iterator[Counterexample]:
    """S09: first copies of an aggregate's events stand in the log in the order of their versions."""
    latest: dict[tuple[str, int], dict[str, int]] = defaultdict(dict)
    for copy in evidence.first_copies.values():
        topic, partition, _offset, _event, _type, _kind, aggregate_id, version, *_rest = copy
        if aggregate_id is None or version is None:
            continue
        versions = latest[topic, partition]
        before = versions.get(aggregate_id, 0)
        if version > before:
            versions[aggregate_id] = version
            continue
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
