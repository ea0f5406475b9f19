"""Canaries for vacuity, W01-W06 and W08: a run that tried nothing."""

from __future__ import annotations

from chaos.checker.evidence import Evidence
from chaos.checker.plants.liveness import MARK


def fault_without_hit(evidence: Evidence) -> Evidence:
    return evidence.replacing(faults=[*evidence.faults, MARK._replace(phase="inject")])


def no_duplicates(evidence: Evidence) -> Evidence:
    return evidence.expecting(duplicates=["log"]).replacing(copies=[*evidence.first_copies.values()])


def none_suppressed(evidence: Evidence) -> Evidence:
    deliveries = [delivery._replace(duplicate=False) for delivery in evidence.deliveries]
    return evidence.expecting(suppressed=True).replacing(deliveries=deliveries)


def nothing_succeeded(evidence: Evidence) -> Evidence:
    intents = [intent._replace(result="info") for intent in evidence.intents]
    return evidence.expecting(operations=["place"]).replacing(intents=intents)


def struck_at_rest(evidence: Evidence) -> Evidence:
    return evidence.expecting(overlap=True).replacing(faults=[MARK._replace(phase="hit")])


def owners_stayed(evidence: Evidence) -> Evidence:
    deliveries = [delivery._replace(instance="only-1") for delivery in evidence.deliveries]
    return evidence.expecting(owner_change=True).replacing(deliveries=deliveries)


def never_two_pending(evidence: Evidence) -> Evidence:
    return evidence.expecting(pending_pairs=1_000_000_000)
