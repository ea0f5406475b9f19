"""The guard-off matrix: each variant against its scenario, and what the judge found against what was foretold."""

from dataclasses import dataclass

from chaos.checker.result import Verdict
from chaos.foretold import Comparison, compare
from chaos.unsafe import Variant

TELLING = ("billing_without_inbox", "consumer_commits_offset_before_effect")
"""The rows of the short form."""


@dataclass(frozen=True, slots=True)
class Row:
    """What came of one variant."""

    variant: Variant
    verdict: Verdict
    found: Comparison


def row(variant: Variant, verdict: Verdict) -> Row:
    return Row(variant, verdict, compare(variant.foretold, verdict))
