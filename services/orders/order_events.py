"""How orders address their events: aggregate type, source, and the order's own version."""

from typing import Any, Final

from sqlalchemy import Row

from shared import outbox
from shared.events import Payload

AGGREGATE_TYPE: Final = "order"
SOURCE: Final = "/orders"


def order_event(order: Row[Any], payload: Payload, traceparent: str | None) -> outbox.Event:
    """Make the event of the order's present version."""
    return outbox.new_event(
        AGGREGATE_TYPE, str(order.order_id), order.version, payload, source=SOURCE, traceparent=traceparent
    )
