"""The states of a bill, and what leads from one to the next. docs/saga.md is drawn from this.

Within one order the events come in their order, so a cancellation never finds that its placement is still to come: it
stands behind it in the log, and behind it in the parking lot.
"""

from typing import Final

from shared.state_machine import Machine, Stay, Transition

INVOICED: Final = Transition(
    None, "OrderPlaced", "invoiced", tells=("InvoiceIssued", "SendInvoice"), given="authorised"
)
DECLINED: Final = Transition(None, "OrderPlaced", "declined", tells=("PaymentDeclined",), given="declined")
CREDITED: Final = Transition("invoiced", "OrderCancelled", "credited", tells=("CreditNoteIssued",))

BILL: Final = Machine(
    "bill",
    transitions=(INVOICED, DECLINED, CREDITED),
    stays=(
        Stay("invoiced", "OrderConfirmed", "it is billing's own news, come back"),
        Stay("declined", "OrderCancelled", "nothing was charged: the order was closed by the refusal, or met it"),
        Stay(None, "OrderCancelled", "its placement was discarded from the parking lot, so nothing was charged"),
    ),
)
