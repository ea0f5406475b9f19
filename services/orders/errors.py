"""What orders can refuse, as errors that carry no HTTP.

    OnceError
    └── OrdersError
        ├── UnreadableOrderError    the body is not JSON
        ├── InvalidOrderError       the body is JSON, the order in it cannot be taken
        │   └── UnknownCurrencyError
        ├── InvalidKeyError         the Idempotency-Key is missing or not usable
        ├── KeyReusedError          the key belongs to another body
        ├── KeyInFlightError        the first request with the key is still being worked on
        ├── BacklogError            events do not leave, so no more orders are taken
        ├── UnknownOrderError       there is no such order
        └── NotCancellableError     the order is declined or cancelled already

Each has been raised before anything was written, or rolls back what was.
"""

from shared.errors import OnceError


class OrdersError(OnceError):
    pass


class UnreadableOrderError(OrdersError):
    pass


class InvalidOrderError(OrdersError):
    pass


class UnknownCurrencyError(InvalidOrderError):
    pass


class InvalidKeyError(OrdersError):
    pass


class KeyReusedError(OrdersError):
    pass


class KeyInFlightError(OrdersError):
    pass


class BacklogError(OrdersError):
    pass


class UnknownOrderError(OrdersError):
    pass


class NotCancellableError(OrdersError):
    def __init__(self, state: str) -> None:
        super().__init__(f"The order is {state}, so there is nothing left to cancel.")
        self.state = state
