import pytest

from services.analytics.count_orders import state_after
from shared.events import OrderCancelled, OrderConfirmed, Payload, PaymentDeclined


def cancelled(reason: str) -> OrderCancelled:
    return OrderCancelled(order_id="o", reason=reason, currency="EUR", amount_minor=1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("event", "state"),
    [
        (OrderConfirmed(order_id="o", invoice_number="INV-2026-000001"), "confirmed"),
        (cancelled("customer"), "cancelled"),
        (cancelled("payment_declined"), "declined"),
        (PaymentDeclined(order_id="o", code="amount_above_limit", detail="", currency="EUR", amount_minor=1), None),
    ],
)
def test_an_orders_own_event_gives_its_state(event: Payload, state: str | None) -> None:
    """A cancellation for want of payment is a decline; billing's events say nothing of an order's state."""
    assert state_after(event) == state
