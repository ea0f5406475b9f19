"""Send parked rows again: those that a person has asked for, and those that nothing holds any more.

Invariant: the rows of an aggregate leave the lot in their order, one at a time, each once it is acknowledged; its newer
rows wait until the lot has none of it. A row that fails again is parked again, and what is behind it stays held.
"""

import time
from collections.abc import Callable, Mapping
from typing import Final

from services.relay.failures import Fault
from services.relay.lanes import Held
from services.relay.parking import REDRIVE_TRIES, Front, Parking
from services.relay.position import Row
from services.relay.transports import Published
from shared.logs import get_logger

STEP_SECONDS: Final = 0.5
"""So long at most the lanes' other rows wait, or a little longer, by the row in hand."""

Publish = Callable[[Held, Row], Published]

log = get_logger(__name__)


def redrive(parking: Parking, by_lane: Mapping[int, Held], publish: Publish) -> int:
    """Send what is due, for a while. Returns how many rows were acknowledged."""
    end = time.monotonic() + STEP_SECONDS
    sent = 0
    for front in parking.due(by_lane):
        following: Front | None = front
        while following is not None and following.state != "parked":
            if time.monotonic() > end or not _redrive_one(parking, by_lane[front.lane], following, publish):
                break
            sent += 1
            following = parking.next_of(following)
    return sent


def _redrive_one(parking: Parking, held: Held, front: Front, publish: Publish) -> bool:
    """Try one row. Returns whether it was acknowledged and taken out of the lot."""
    if front.tries >= REDRIVE_TRIES:
        parking.park_again(held, front, f"the relay that sent it again ended, {front.tries} times", front.tries)
        return False
    if not parking.begin_try(held, front):
        return False
    row = parking.row(front)
    published = publish(held, row)
    if published.count:
        log.info("redriven", epoch=held.epoch, **about(row))
        return parking.sent(held, front)
    if published.fault is Fault.RECEIVER:
        parking.postpone(held, front)
    else:
        log.warning("parked again", epoch=held.epoch, detail=published.error, **about(row))
        parking.park_again(held, front, published.error or "", attempts=1)
    return False


def about(row: Row) -> dict[str, object]:
    """Name a row in a log line."""
    return {
        "event_id": row.event_id,
        "event_type": row.type,
        "aggregate_id": row.aggregate_id,
        "aggregate_version": row.aggregate_version,
    }
