"""The guard-off matrix: each variant against its scenario, and what the judge found against what was foretold."""

from dataclasses import dataclass

from chaos import unsafe
from chaos.checker.result import Verdict
from chaos.foretold import Comparison, compare
from chaos.unsafe import Variant

TELLING = (
    "billing_without_inbox",
    "consumer_commits_offset_before_effect",
    "analytics_without_inbox",
    "orders_look_before_they_write",
    "billing_with_float_money",
)
"""The rows of the short form: one for each way to be wrong (doubled, lost, miscounted, raced, off by a cent)."""


@dataclass(frozen=True, slots=True)
class Row:
    """What came of one variant."""

    name: str
    verdict: Verdict
    found: Comparison

    @property
    def variant(self) -> Variant:
        return unsafe.load(self.name)


def row(variant: Variant, verdict: Verdict) -> Row:
    return Row(variant.name, verdict, compare(variant.foretold, verdict))
