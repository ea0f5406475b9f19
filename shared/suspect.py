"""Where to cut a batch that failed, so that its culprit stands alone after as few tries as can be.

A server that refuses a row mostly says which one, in the detail of its error: ``Key (order_id)=(…) already exists``.
Whose aggregate is named there stands in the middle of the cut; where nobody is, or several, the cut halves.

Invariant: the parts are the whole batch, in its order, and each is smaller. What the server says only saves tries: an
innocent that it names is tried alone and applied.
"""

import re
from collections.abc import Sequence
from typing import Final

from shared.inbox import Delivery
from shared.receiving import Received

_BETWEEN_VALUES: Final = re.compile(r"[(),\s]+")


def parts(batch: Sequence[Received], error: BaseException) -> list[Sequence[Received]]:
    """Cut a batch of two or more in two, or in three around its suspect."""
    named = _named(batch, error)
    if not named:
        middle = len(batch) // 2
        return [batch[:middle], batch[middle:]]
    # Several of one aggregate: the one in the middle, so that even a long row of them is halved by each try.
    place = named[len(named) // 2]
    return [part for part in (batch[:place], batch[place : place + 1], batch[place + 1 :]) if part]


def _named(batch: Sequence[Received], error: BaseException) -> list[int]:
    """Return the places of the deliveries whose aggregate the server's words name."""
    diagnosis = getattr(getattr(error, "orig", None), "diag", None)
    values = set(_BETWEEN_VALUES.split(getattr(diagnosis, "message_detail", None) or ""))
    return [
        place for place, each in enumerate(batch) if isinstance(each, Delivery) and each.envelope.aggregate_id in values
    ]
