"""How long a run took to make up for its faults: from the last healing to each invoice that was owed by then.

Measured for L05 and for the reader. Orders that never got their invoice are not here; they are S00's and S12's.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from chaos.checker.evidence import Evidence
from chaos.checker.lines import Unusable
from chaos.checker.records import Invoice
from chaos.checker.result import Recovery


def healed_at(evidence: Evidence) -> float | None:
    """Return the moment of the last healing, None when nothing was healed."""
    return max((when(mark.at) for mark in evidence.faults if mark.phase == "heal"), default=None)


def owed(evidence: Evidence, healed: float) -> Iterator[tuple[Invoice, float]]:
    """Yield each invoice that was ordered before the healing and came after it, and how many seconds after."""
    places, written = evidence.event_of.places, evidence.events.column("occurred_at")
    for invoice in evidence.invoices:
        late = when(invoice.applied_at) - healed
        place = places.get(invoice.event_id or "") if late > 0 else None
        if place is not None and when(written[place]) <= healed:
            yield invoice, late


def recovery_of(evidence: Evidence) -> Recovery | None:
    """Return the figures of a run, None when nothing was healed or the evidence for it is missing."""
    try:
        healed = healed_at(evidence)
        taken = sorted(late for _invoice, late in owed(evidence, healed)) if healed is not None else None
    except Unusable:
        return None
    if taken is None:
        return None
    return Recovery(len(taken), *(_quantile(taken, share) for share in (0.5, 0.95, 1.0)))


def _quantile(ordered: list[float], share: float) -> float:
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 3) if ordered else 0.0


def when(text: str) -> float:
    """Return a timestamp as seconds, to compare times of different files."""
    return datetime.fromisoformat(text).timestamp()
