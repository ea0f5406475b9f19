"""Commands to send an invoice."""

from collections.abc import Sequence
from typing import Final

from shared.events import OrderLine, SendInvoice

ORDER_ID: Final = "0198c1d2-3e4f-7a5b-8c6d-000000000001"
LINES: Final = (
    OrderLine(sku="tea", quantity=2, unit_price_minor=450),
    OrderLine(sku="cup", quantity=1, unit_price_minor=1334),
)


def command(
    number: str = "INV-2026-000042",
    currency: str = "EUR",
    lines: Sequence[OrderLine] = LINES,
    email: str = "ada@example.org",
    issued_at: str = "2026-01-31T12:34:56.789012+00:00",
    order_id: str = ORDER_ID,
) -> SendInvoice:
    return SendInvoice(
        order_id=order_id,
        invoice_number=number,
        email=email,
        currency=currency,
        amount_minor=sum(line.quantity * line.unit_price_minor for line in lines),
        lines=tuple(lines),
        issued_at=issued_at,
    )
