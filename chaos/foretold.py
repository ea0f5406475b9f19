"""What was foretold of a run against what the judge found.

Invariant: every rule of the judge is in exactly one of three sets. ``must_fail`` has to be seen broken; ``may_fail``
may be broken, unknown or well; ``must_hold`` has to be found well (or not to apply). A rule that should have turned red
and did not is as bad as one that turned red and should not have: the first says that nothing would be noticed, the
second that something else is broken.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from gettext import gettext as _

from chaos.checker.registry import INVARIANTS, W07
from chaos.checker.result import Answer, Verdict

EVERY_INVARIANT = frozenset({invariant.id for invariant in INVARIANTS} | {W07[0]})
WELL = frozenset({Answer.HOLDS, Answer.WARNING, Answer.NOT_APPLICABLE})


@dataclass(frozen=True, slots=True)
class Foretold:
    """The three sets. Two are enough, the third is the rest; without ``must_hold`` the rest must hold."""

    must_fail: frozenset[str] = frozenset()
    may_fail: frozenset[str] = frozenset()
    must_hold: frozenset[str] = frozenset()

    def completed(self, whose: str) -> "Foretold":
        """Return all three sets. Raises ValueError for a rule in two of them, in none, or in no registry."""
        rest = EVERY_INVARIANT - self.must_fail - self.may_fail - self.must_hold
        whole = self
        if rest and self.must_hold and not self.may_fail:
            whole = Foretold(self.must_fail, rest, self.must_hold)
        elif rest and not self.must_hold:
            whole = Foretold(self.must_fail, self.may_fail, rest)
        _check(whose, (whole.must_fail, whole.may_fail, whole.must_hold))
        return whole


def _check(whose: str, sets: tuple[frozenset[str], ...]) -> None:
    named = [invariant for each in sets for invariant in each]
    twice = sorted({invariant for invariant in named if named.count(invariant) > 1})
    unknown = sorted(set(named) - EVERY_INVARIANT)
    if twice or unknown:
        raise ValueError(f"{whose!r}: named twice {twice}, known to nobody {unknown}")
    if missing := EVERY_INVARIANT - set(named):
        raise ValueError(f"{whose!r} says nothing of {sorted(missing)}")


@dataclass(frozen=True, slots=True)
class Comparison:
    not_seen: tuple[str, ...]
    """Had to turn red and did not."""
    unforeseen: tuple[str, ...]
    """Had to hold and did not, or could not be judged."""

    @property
    def as_foretold(self) -> bool:
        return not self.not_seen and not self.unforeseen

    def words(self) -> Iterator[str]:
        """Say what is not as it was foretold."""
        if self.not_seen:
            yield _("not seen to break: {ids}").format(ids=" ".join(self.not_seen))
        if self.unforeseen:
            yield _("broken or unknown and not foretold: {ids}").format(ids=" ".join(self.unforeseen))


def compare(foretold: Foretold, verdict: Verdict) -> Comparison:
    answers = {result.invariant: result.answer for result in verdict.results}
    return Comparison(
        not_seen=tuple(sorted(each for each in foretold.must_fail if answers.get(each) is not Answer.BROKEN)),
        unforeseen=tuple(sorted(each for each in foretold.must_hold if answers.get(each) not in WELL)),
    )
