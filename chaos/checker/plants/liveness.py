"""Canaries for liveness, L02-L05; L01 has its own among the log's."""

from __future__ import annotations

from chaos.checker.evidence import Evidence
from chaos.checker.plants.pick import LONG_AGO, SOON_AFTER, instead, pick
from chaos.checker.records import FaultMark

MARK = FaultMark("canary", "heal", LONG_AGO, None, None, None, None)


def lag_left(evidence: Evidence) -> Evidence:
    groups = evidence.run.groups
    mark = pick((m for m in evidence.marks if m.group in groups), "partition")
    further = max(mark.end, mark.low, mark.committed or 0) + 1
    return evidence.replacing(marks=instead(evidence.marks, mark, mark._replace(end=further)))


def beyond_the_end(evidence: Evidence) -> Evidence:
    mark = pick(evidence.marks, "partition")
    return evidence.replacing(marks=instead(evidence.marks, mark, mark._replace(committed=mark.end + 1)))


def stood_still(evidence: Evidence) -> Evidence:
    faults = [MARK._replace(phase="inject"), MARK._replace(at=SOON_AFTER)]
    return evidence.expecting(progress=True).replacing(faults=faults)


def recovered_late(evidence: Evidence) -> Evidence:
    """Let an invoice's event be as old as can be, whether or not the outbox has it, and the healing next to it."""
    invoice = pick((i for i in evidence.invoices if i.event_id), "invoice")
    event = pick(evidence.events, "event in an outbox")._replace(event_id=str(invoice.event_id), occurred_at=LONG_AGO)
    late = evidence.expecting(recovery_seconds=-1)
    return late.replacing(events=[*evidence.events, event], faults=[MARK._replace(at=SOON_AFTER)])
