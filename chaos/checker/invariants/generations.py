"""S21: a consumer that has lost its partition changes nothing there afterwards.

The generation is the one of the group's own metadata, as it stood on the inbox row in the effect's transaction; a
counter that a process keeps for itself would not tell an older owner of a partition from a newer one. A row without a
generation (below 1) says nothing. What is found in a run that does not claim to fence older generations is a warning.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from gettext import gettext as _
from operator import attrgetter

from chaos.checker.columnwise import Columnwise, places_of
from chaos.checker.evidence import Evidence
from chaos.checker.finding import Counterexample
from chaos.checker.invariants.effects import require_provenance
from chaos.checker.records import Applied


def no_older_generation(evidence: Evidence) -> Iterator[Counterexample]:
    """S21: on a partition, no effect of an older generation comes after one of a newer."""
    require_provenance(evidence)
    newest: dict[tuple[str, str, int], Applied] = {}
    for row in sorted(_of_changed_generations(evidence.inbox), key=attrgetter("applied_at")):
        partition = row.group, row.topic, row.partition
        before = newest.get(partition, row)
        if row.generation >= before.generation:
            newest[partition] = row
            continue
        yield Counterexample(
            _("{member} of generation {old} applied {place} after {newer} of generation {new} had begun there").format(
                member=row.member, old=row.generation, newer=before.member, new=before.generation,
                place=f"{row.topic}/{row.partition}@{row.offset}",
            ),
            row.aggregate_id,
            row.event_id,
        )  # fmt: skip


def _of_changed_generations(inbox: Columnwise[Applied]) -> Iterator[Applied]:
    """Yield the rows with a generation of partitions that had more than one; in a quiet run there are none to sort."""
    seen = {*inbox.columns("group", "topic", "partition", "generation")}
    generations = Counter((group, topic, partition) for group, topic, partition, generation in seen if generation >= 1)
    changed = {partition for partition, count in generations.items() if count > 1}
    rows = inbox.at(places_of(map(changed.__contains__, inbox.columns("group", "topic", "partition"))))
    return (row for row in rows if row.generation >= 1)
