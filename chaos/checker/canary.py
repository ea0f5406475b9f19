"""The canaries: one violation per invariant, put into a sample of the run's own evidence, and looked for.

A checker that misses one of them is dead, whatever else it says about the run (CHECKER_DEAD).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from gettext import gettext as _

from chaos.checker.evidence import Evidence
from chaos.checker.finding import CannotPlant, Counterexample, Family, Invariant, NotApplicable
from chaos.checker.lines import Unusable


class Fate(StrEnum):
    FOUND = "found"
    MISSED = "missed"
    NOTHING_TO_SPOIL = "nothing to spoil"
    NOT_PLANTED = "not planted"


@dataclass(frozen=True, slots=True)
class Canary:
    invariant: str
    fate: Fate
    detail: str = ""


def release(invariant: Invariant, cut: Evidence) -> Canary:
    """Plant the invariant's violation in a sample and say whether the invariant sees it."""
    try:
        before = _known(invariant, cut)
        planted = invariant.plant(cut)
        found = any(finding not in before for finding in invariant.check(planted))
    except CannotPlant as nothing:
        return Canary(invariant.id, Fate.NOTHING_TO_SPOIL, str(nothing))
    except Unusable as missing:
        return Canary(invariant.id, Fate.NOT_PLANTED, str(missing))
    except NotApplicable as reason:
        return Canary(invariant.id, Fate.MISSED, _("it says that it does not apply: {reason}").format(reason=reason))
    except Exception as error:  # noqa: BLE001 - a check that breaks on a violation has not found it
        return Canary(invariant.id, Fate.MISSED, _("it broke: {error!r}").format(error=error))
    return Canary(invariant.id, Fate.FOUND if found else Fate.MISSED)


def _known(invariant: Invariant, cut: Evidence) -> frozenset[Counterexample]:
    """Return what the invariant says of the sample itself, which is therefore not the canary.

    A vacuity rule asks whether something happened anywhere in the run. A sample in which it did not is as good a
    violation as one that was planted, so nothing is discounted.
    """
    if invariant.family is Family.VACUITY:
        return frozenset()
    try:
        return frozenset(invariant.check(cut))
    except NotApplicable:
        return frozenset()
