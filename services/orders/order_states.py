"""The states of an order, and what leads from one to the next. docs/saga.md is drawn from this.

An order that its customer has cancelled stays cancelled, whatever billing still says about it: billing hears of the
cancellation by the order's own event, behind the placement, and gives back what it has charged.
"""

from typing import Final

from shared.state_machine import Machine, Stay, Transition

PLACE: Final = "the customer's order"
CANCEL: Final = "the customer's cancellation"

PLACED: Final = Transition(None, PLACE, "placed", tells=("OrderPlaced",))

ORDER: Final = Machine(
    "order",
    transitions=(
        PLACED,
        Transition("placed", "InvoiceIssued", "confirmed", tells=("OrderConfirmed",)),
        Transition("placed", "PaymentDeclined", "declined", tells=("OrderCancelled",)),
        Transition("placed", CANCEL, "cancelled", tells=("OrderCancelled",)),
        Transition("confirmed", CANCEL, "cancelled", tells=("OrderCancelled",)),
    ),
    stays=(
        Stay("cancelled", "InvoiceIssued", "the cancellation overtook the invoice, and billing will credit it"),
        Stay("cancelled", "PaymentDeclined", "the cancellation overtook the refusal, and nothing was charged"),
        Stay("cancelled", "CreditNoteIssued", "it is billing's answer to the cancellation"),
        Stay("cancelled", CANCEL, "refused with 409: it is cancelled already"),
        Stay("declined", CANCEL, "refused with 409: there is nothing to cancel"),
    ),
)
