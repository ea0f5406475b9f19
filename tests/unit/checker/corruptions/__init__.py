"""Corruptions of a good history at a place that the dice choose: for each rule several, each by a name.

A corruption says which rule must find it, and which others may see it because the same rows are their business. It
returns the order that the rule has to name, or None where it speaks of no order.
"""

from tests.unit.checker.corruptions import effects, liveness, log, mails, money, odd, orders, read_model, vacuity
from tests.unit.checker.corruptions.corruption import CORRUPTIONS, ODD, Corruption, Odd

__all__ = ["CORRUPTIONS", "ODD", "Corruption", "Odd"]

_TELLING = (effects, liveness, log, mails, money, odd, orders, read_model, vacuity)
"""Imported for what they tell."""
