"""Billing's own errors.

    PermanentError
    ├── UnknownCurrency     an amount whose decimals nobody knows cannot be judged or printed
    └── BrokenOrderId       an order that cannot be named cannot be billed

Both are the event's own fault: delivering it again unchanged will never help.
"""

from shared.errors import PermanentError


class UnknownCurrency(PermanentError):
    def __init__(self, currency: str) -> None:
        super().__init__(
            f"the currency {currency!r} is not in the list of accepted ones, so the order cannot be billed. "
            "Add it to shared.events.CURRENCIES with its decimals, then deliver the event again."
        )


class BrokenOrderId(PermanentError):
    def __init__(self, order_id: str) -> None:
        super().__init__(f"the order id {order_id!r} is not a UUID, so no bill can be kept for it.")
