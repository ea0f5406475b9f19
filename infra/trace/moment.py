"""One thing that happened on an order's way."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Where(StrEnum):
    """The part of the system in which it happened, in the order of the flow."""

    ORDERS = "orders"
    RELAY = "relay"
    LOG = "log"
    BILLING = "billing"
    ANALYTICS = "analytics"
    NOTIFICATIONS = "notifications"
    MAILBOX = "mailbox"


@dataclass(frozen=True, slots=True)
class Moment:
    at: datetime
    where: Where
    what: str
    duplicate: bool = False
    """A copy that changed nothing."""
