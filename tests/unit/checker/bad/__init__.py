"""Hand-written corruptions of a good history, a file for what they spoil; each is named by its docstring.

Any broken rule that a corruption does not name is a false accusation.
"""

from tests.unit.checker.bad import (
    amounts,
    inbox,
    intents,
    invoices,
    log,
    mails,
    numbers,
    offsets,
    outbox,
    parked,
    read_model,
    recovery,
    sagas,
    vacuity,
)
from tests.unit.checker.bad.bad import BAD, Bad

__all__ = ["BAD", "Bad"]

_TELLING = (
    amounts, inbox, intents, invoices, log, mails, numbers, offsets, outbox, parked, read_model, recovery, sagas,
    vacuity,
)  # fmt: skip
"""Imported for what they tell."""
