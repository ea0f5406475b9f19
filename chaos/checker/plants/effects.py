"""Canaries for what the groups made of the log, S10, S12, S17, S20-S22, S25."""

from __future__ import annotations

from chaos.checker.evidence import Evidence
from chaos.checker.plants.log import FAR
from chaos.checker.plants.pick import LONG_AGO, NOBODY, NOTHING, SOON_AFTER, pick
from chaos.checker.records import ParkedRow


def version_skipped(evidence: Evidence) -> Evidence:
    poisoned = evidence.poisoned
    row = pick((r for r in evidence.inbox if r.aggregate_id not in poisoned), "applied event")
    return evidence.replacing(inbox=[row._replace(version=FAR) if other == row else other for other in evidence.inbox])


def order_never_billed(evidence: Evidence) -> Evidence:
    copy = pick((c for c in evidence.copies if c.type == "OrderPlaced"), "placed order in the log")
    stranger = copy._replace(event_id=NOTHING, aggregate_id=NOBODY, offset=FAR)
    return evidence.replacing(copies=[*evidence.copies, stranger])


def inbox_row_missing(evidence: Evidence) -> Evidence:
    """Take away the inbox row of an event that its group has consumed and committed."""
    firsts, marks, poisoned = evidence.first_copies, evidence.mark_of, evidence.poisoned
    applied = evidence.applied_ids
    row = pick(
        (
            row
            for row in evidence.inbox
            if (copy := firsts.get(row.event_id))
            and len(applied[row.group]) > 1
            and (mark := marks.get((row.group, copy.topic, copy.partition)))
            and copy.offset < (mark.committed or 0)
            and poisoned.isdisjoint((copy.aggregate_id, copy.spot))
        ),
        "consumed event",
    )
    taken = row.group, row.event_id
    return evidence.replacing(inbox=[r for r in evidence.inbox if (r.group, r.event_id) != taken])


def older_generation(evidence: Evidence) -> Evidence:
    row = pick(evidence.inbox, "applied event")
    newer = row._replace(generation=FAR, applied_at=LONG_AGO)
    older = row._replace(generation=FAR - 1, applied_at=SOON_AFTER)
    return evidence.expecting(fencing=True).replacing(inbox=[*evidence.inbox, newer, older])


def published_and_parked(evidence: Evidence) -> Evidence:
    published = evidence.first_copies.keys() - evidence.parked_event_ids
    event = pick((e for e in evidence.events if e.event_id in published), "event in the log")
    parked = ParkedRow(event.database, event.id, "parked", "canary")
    return evidence.replacing(parked_rows=[*evidence.parked_rows, parked])


def innocent_parked(evidence: Evidence) -> Evidence:
    poisoned = evidence.poisoned
    event = pick((e for e in evidence.events if poisoned.isdisjoint((e.event_id, e.aggregate_id))), "event")
    parked = ParkedRow(event.database, event.id, "parked", "canary")
    return evidence.replacing(parked_rows=[*evidence.parked_rows, parked])
