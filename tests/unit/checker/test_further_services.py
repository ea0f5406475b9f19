"""A service that was added is judged like ours: by what lies in its outbox, and without a word to the checker."""

import shutil
from pathlib import Path

from chaos.checker.verdict import judge
from chaos.specimens import every_shape


def moved(evidence: Path) -> Path:
    """Move a piece of billing's outbox to another service's, which stands where billing stands."""
    billing, warehouse = evidence / "db" / "billing", evidence / "db" / "warehouse"
    warehouse.mkdir()
    for table in ("relay_lane", "relay_position", "outbox_parked"):
        shutil.copy(billing / f"{table}.jsonl", warehouse)
    outbox = billing / "outbox.jsonl"
    rows = outbox.read_text().splitlines(keepends=True)
    taken = next(row for row in rows if '"InvoiceIssued"' in row)
    outbox.write_text("".join(row for row in rows if row is not taken))
    (warehouse / "outbox.jsonl").write_text(taken)
    return warehouse


def test_what_a_further_outbox_holds_may_stand_in_the_log(tmp_path: Path) -> None:
    """Seen red with the two outboxes that the checker knew by name alone."""
    evidence = every_shape().write(tmp_path)
    moved(evidence)
    assert not {"S05", "S06", "L01"} & {*judge(evidence, canaries=False).broken}


def test_without_its_outbox_it_is_seen(tmp_path: Path) -> None:
    """The test above can fail, and this is how."""
    evidence = every_shape().write(tmp_path)
    shutil.rmtree(moved(evidence))
    assert "S06" in judge(evidence, canaries=False).broken
