"""Canaries for the outbox and the log, S05-S09 and L01."""

from __future__ import annotations

from chaos.checker.evidence import Evidence
from chaos.checker.plants.pick import NOTHING, pick
from chaos.checker.records import Copy, Event, Lane

FAR = 1_000_000_000


def _known(evidence: Evidence) -> Copy:
    events = evidence.event_of
    return pick((c for c in evidence.copies if c.event_id in events and c.aggregate_id), "event in the log")


def _published(evidence: Evidence) -> Event:
    """Return an event that is in the log; one that a broken relay has lost already is no canary."""
    published = evidence.first_copies.keys() - evidence.parked_event_ids
    return pick((e for e in evidence.events if e.event_id in published), "event in the log")


def _vanish(evidence: Evidence, event: Event) -> Evidence:
    return evidence.replacing(copies=[c for c in evidence.copies if c.event_id != event.event_id])


def settled_and_gone(evidence: Evidence) -> Evidence:
    """Move the position of an event's lane beyond it, wherever that stands, and take the event out of the log."""
    event = _published(evidence)
    done = f"{event.xid + 1}:{event.xid + 1}:"
    beyond = Lane(event.database, event.destination, event.lane, done, None, 0)
    return _vanish(evidence.replacing(lanes=[*evidence.lanes, beyond]), event)


def never_published(evidence: Evidence) -> Evidence:
    return _vanish(evidence, _published(evidence))


def stranger_in_log(evidence: Evidence) -> Evidence:
    return evidence.replacing(copies=[*evidence.copies, _known(evidence)._replace(event_id=NOTHING, offset=FAR)])


def copy_altered(evidence: Evidence) -> Evidence:
    copy = _known(evidence)
    altered = copy._replace(type="Altered", digest=b"altered")
    return evidence.replacing(copies=[altered if other == copy else other for other in evidence.copies])


def _named(evidence: Evidence) -> Copy:
    """Return an event of the log alone: the outboxes are not at the desk that judges the log's order."""
    return pick((c for c in evidence.copies if c.event_id and c.aggregate_id), "event in the log")


def second_partition(evidence: Evidence) -> Evidence:
    copy = _named(evidence)
    return evidence.replacing(copies=[*evidence.copies, copy._replace(partition=copy.partition + 1, offset=FAR)])


def overtaken(evidence: Evidence) -> Evidence:
    copy = _named(evidence)
    late = copy._replace(event_id=NOTHING, version=FAR, offset=FAR)
    early = copy._replace(event_id=NOTHING + "0", version=FAR - 1, offset=FAR + 1)
    return evidence.replacing(copies=[*evidence.copies, late, early])
