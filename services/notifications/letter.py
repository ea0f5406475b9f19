"""Compose the e-mail that carries an invoice.

Invariant: the same command gives the same bytes, down to the MIME boundary; the Message-ID is the event's id. So a
receiver, and whoever audits one, can tell a copy from a second mail.
"""

from datetime import datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import Final
from uuid import UUID

from services.notifications.amounts import amount_text
from services.notifications.errors import MailRefused
from services.notifications.invoice_pdf import render
from shared.events import SendInvoice

DOMAIN: Final = "effectively-once.invalid"


def compose(event_id: UUID, command: SendInvoice, sender: str, trace_id: str | None = None) -> EmailMessage:
    """Return the message, naming its trace. Raises MailRefused for an address that cannot stand in a header."""
    letter = EmailMessage(policy=SMTP)
    try:
        letter["From"] = sender
        letter["To"] = command.email
    except ValueError as error:
        raise MailRefused(f"the address cannot stand in a mail's header: {error}") from error
    letter["Subject"] = f"Your invoice {command.invoice_number}"
    letter["Date"] = format_datetime(datetime.fromisoformat(command.issued_at))
    letter["Message-ID"] = f"<{event_id}@{DOMAIN}>"
    letter["X-Order-Id"] = command.order_id
    letter["X-Invoice-Number"] = command.invoice_number
    if trace_id:
        letter["X-Trace-Id"] = trace_id
    letter.set_content(_text(command))
    letter.add_attachment(
        render(command), maintype="application", subtype="pdf", filename=f"{command.invoice_number}.pdf"
    )
    letter.set_boundary(f"==={event_id.hex}===")
    return letter


def _text(command: SendInvoice) -> str:
    amount = amount_text(command.amount_minor, command.currency)
    return (
        "Hello,\n\n"
        f"thank you for your order {command.order_id}.\n"
        f"Invoice {command.invoice_number} over {amount} is attached as a PDF.\n\n"
        "Nothing more needs to be done: the payment has been authorised.\n"
    )
