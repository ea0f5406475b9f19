"""From commit to invoice: ``applied_at`` of the invoice minus ``occurred_at`` of the event that it answers.

Both are the database server's clock at the moment of writing, so no clock of a client takes part. The commit itself
comes a moment after each of the two.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from chaos import journal


@dataclass(frozen=True, slots=True)
class Latency:
    """In milliseconds."""

    invoices: int
    p50: float
    p99: float
    longest: float


def commit_to_invoice(evidence: Path) -> Latency | None:
    """Measure every invoice of a run, from its database dumps; nothing when there is none."""
    written = {row["event_id"]: row["occurred_at"] for row in journal.rows(evidence / "db/orders/outbox.jsonl")}
    taken = sorted(
        _milliseconds(written[row["event_id"]], row["applied_at"])
        for row in journal.rows(evidence / "db/billing/invoice.jsonl")
        if row["event_id"] in written
    )
    if not taken:
        return None
    return Latency(len(taken), quantile(taken, 0.5), quantile(taken, 0.99), taken[-1])


def quantile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that is not below ``share`` of them (nearest rank)."""
    rank = max(0, min(len(ordered) - 1, -(-int(share * 1_000_000) * len(ordered) // 1_000_000) - 1))
    return ordered[rank]


def _milliseconds(begin: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds() * 1000
