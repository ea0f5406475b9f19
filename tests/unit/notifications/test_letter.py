from email import message_from_bytes
from email.policy import default
from uuid import UUID

import pytest

from services.notifications.errors import MailRefused
from services.notifications.invoice_pdf import render
from services.notifications.letter import compose
from tests.unit.notifications.commands import ORDER_ID, command

EVENT_ID = UUID("0198c1d2-3e4f-7a5b-8c6d-0123456789ab")
SENDER = "invoices@effectively-once.invalid"


def test_the_message_id_is_the_events_id() -> None:
    """It is the key by which copies are told from second mails."""
    letter = compose(EVENT_ID, command(), SENDER)
    assert letter["Message-ID"] == f"<{EVENT_ID}@effectively-once.invalid>"
    assert (letter["X-Order-Id"], letter["X-Invoice-Number"]) == (ORDER_ID, "INV-2026-000042")


def test_a_copy_has_the_same_bytes() -> None:
    """Down to the date and the MIME boundary, which mail libraries like to invent."""
    assert bytes(compose(EVENT_ID, command(), SENDER)) == bytes(compose(EVENT_ID, command(), SENDER))


def test_the_invoice_is_attached_and_its_amount_is_in_the_text() -> None:
    letter = message_from_bytes(bytes(compose(EVENT_ID, command(currency="KWD"), SENDER)), policy=default)
    [attachment] = letter.iter_attachments()
    assert attachment.get_filename() == "INV-2026-000042.pdf"
    assert attachment.get_content() == render(command(currency="KWD"))
    body = letter.get_body(("plain",))
    assert body is not None
    assert "KWD 2.234" in body.get_content()


@pytest.mark.parametrize("address", ["ada@example.org\nBcc: eve@example.org", "ada@example.org\r\n\r\nHello"])
def test_an_address_cannot_smuggle_headers_in(address: str) -> None:
    """A line end in an address is refused for good."""
    with pytest.raises(MailRefused):
        compose(EVENT_ID, command(email=address), SENDER)
