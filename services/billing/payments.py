"""The payment of an order: a rule that decides, and the rows that remember.

``authorise`` is a pure function on purpose. A handler runs inside a database transaction and may run again, so it may
not talk to the world: a call made here could be charged although the transaction rolls back, or twice when the batch
comes again. A real provider is asked by a *command* that leaves through the outbox with the event id as the provider's
idempotency key, and answers by an *event*; the rest of the saga stays as it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal
from uuid import UUID

from sqlalchemy import Connection
from uuid_utils.compat import uuid7

from services.billing.errors import UnknownCurrency
from shared.events import CURRENCIES

LARGEST_AUTHORISED_UNITS: Final = 10_000
"""In major units of the order's own currency; exactly this much is still authorised."""

Status = Literal["authorised", "declined", "refunded"]


@dataclass(frozen=True, slots=True)
class Payment:
    """One movement on an order's account."""

    order_id: UUID
    status: Status
    currency: str
    amount_minor: int


def authorise(currency: str, amount_minor: int) -> bool:
    """Decide a payment: a total above 10,000.00 units of its currency is declined, everything else is authorised.

    Raises UnknownCurrency.
    """
    if currency not in CURRENCIES:
        raise UnknownCurrency(currency)
    minor_per_unit: int = 10 ** CURRENCIES[currency]
    return amount_minor <= LARGEST_AUTHORISED_UNITS * minor_per_unit


_RECORD: Final = """
INSERT INTO payment (payment_id, order_id, status, currency, amount_minor)
SELECT * FROM unnest(%(payment_id)s::uuid[], %(order_id)s::uuid[], %(status)s::text[], %(currency)s::text[],
                     %(amount_minor)s::bigint[])
"""


def record(connection: Connection, payments: Sequence[Payment]) -> None:
    """Write payments through the caller's connection; never commits."""
    if not payments:
        return
    connection.exec_driver_sql(
        _RECORD,
        {
            "payment_id": [uuid7() for _ in payments],
            "order_id": [p.order_id for p in payments],
            "status": [p.status for p in payments],
            "currency": [p.currency for p in payments],
            "amount_minor": [p.amount_minor for p in payments],
        },
    )
