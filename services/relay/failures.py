"""Whose fault it is when a row was not taken: the one place that decides.

    the receiver's   it is away, slow, moving its leader, full, or not set up: the breaker opens, and the relay waits,
                     however long. No attempt is counted, and nothing is parked.
    the row's        it will never be taken as it is: too large for its topic, no topic for its type, unreadable. It is
                     parked with its error; later rows of its aggregate are held behind it, all others go on.
    unknown          one of several rows that failed together is at fault: they are tried again one at a time.
    a bug's          the row ends the process. Nobody is left to report it; see ``caution``.

Invariant: a row is blamed only for what was found out about it alone.
"""

from enum import StrEnum
from typing import Final

from confluent_kafka import KafkaError

from shared.errors import PermanentError

ATTEMPTS: Final = 3
"""So often a receiver refuses a row that it got alone. What the relay finds out by itself needs no second try."""


class Fault(StrEnum):
    RECEIVER = "receiver"
    ROW = "row"
    """Found out before anything was sent, so trying again changes nothing."""
    REFUSED = "refused"
    """The receiver refused this row, and this row alone."""
    SUSPECTS = "suspects"
    """The receiver refused something of which this row was a part."""


class RowFaultError(PermanentError):
    """This row cannot be sent as it is."""


_REFUSALS: Final = frozenset(
    {
        KafkaError.MSG_SIZE_TOO_LARGE,
        KafkaError.RECORD_LIST_TOO_LARGE,
        KafkaError.INVALID_RECORD,
    }
)
"""What a broker says about the records themselves. Everything else is about the broker, the topic or the way to it, or,
with an invalid time stamp, about the relay's own clock, which would have every row parked."""


def of_kafka(error: KafkaError, sent_together: int) -> Fault:
    """Tell whose fault a delivery report's error is, for so many rows that were sent together."""
    if error.code() not in _REFUSALS:
        return Fault.RECEIVER
    return Fault.REFUSED if sent_together == 1 else Fault.SUSPECTS
