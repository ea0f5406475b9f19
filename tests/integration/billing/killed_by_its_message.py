"""Billing's consumer with a handler that a message of one customer kills: ``python -m`` this, for a test."""

import os
import signal
from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection

from services.billing import bill_orders, wiring
from services.billing.settings import Settings
from shared import logs
from shared.events import OrderPlaced
from shared.inbox import Delivery
from shared.lifecycle import stop_on_signals
from shared.settings import read

KILLER: Final = "the-killer"


def handler(connection: Connection, batch: Sequence[Delivery]) -> None:
    """Apply a batch, and die of it as of a broken native library."""
    bill_orders.apply(connection, batch)
    if any(isinstance(each.payload, OrderPlaced) and each.payload.customer_id == KILLER for each in batch):
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    settings = read(Settings, os.environ)
    logs.configure(settings.instance, settings.log_level)
    wiring.build(settings, handler=handler).run(stop_on_signals())
