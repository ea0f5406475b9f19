"""The guard-off matrix: each variant against its scenario, and what the judge found against what was foretold.

Invariant: a row is as specified only if every rule is where the variant's three sets put it. A rule that should have
turned red and did not is as bad as one that turned red and should not have: the first says that nothing would be
noticed, the second that something else is broken.
"""

from dataclasses import dataclass

from chaos.checker.result import Answer, Verdict
from chaos.unsafe import Variant

TELLING = ("billing_without_inbox", "consumer_commits_offset_before_effect")
"""The rows of the short form."""

WELL = frozenset({Answer.HOLDS, Answer.NOT_APPLICABLE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What came of one variant."""

    variant: Variant
    verdict: Verdict
    not_seen: tuple[str, ...]
    """Had to turn red and did not."""
    unforeseen: tuple[str, ...]
    """Had to hold and did not, or could not be judged."""

    @property
    def as_specified(self) -> bool:
        return not self.not_seen and not self.unforeseen


def compare(variant: Variant, verdict: Verdict) -> Row:
    answers = {result.invariant: result.answer for result in verdict.results}
    return Row(
        variant=variant,
        verdict=verdict,
        not_seen=tuple(sorted(each for each in variant.must_fail if answers.get(each) is not Answer.BROKEN)),
        unforeseen=tuple(sorted(each for each in variant.must_hold if answers.get(each) not in WELL)),
    )
