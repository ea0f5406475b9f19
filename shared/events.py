"""The events and commands of the system, as typed payloads. The one file of ``shared`` with business words.

An event is a fact, named in the past tense, and is never changed once written; a command asks one receiver to do
something. Amounts are integers in the minor unit of an ISO 4217 currency. Unknown fields are ignored, so that a newer
producer does not stop an older consumer; an unknown type or a broken payload is a PermanentError, never skipped.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal

import msgspec

from shared.errors import PermanentError

CURRENCIES: Mapping[str, int] = MappingProxyType(
    {
        "EUR": 2, "USD": 2, "GBP": 2, "CHF": 2, "SEK": 2,
        "JPY": 0, "KRW": 0,
        "KWD": 3, "BHD": 3, "TND": 3,
    }
)  # fmt: skip
"""Accepted currencies with their number of decimals (ISO 4217)."""

AmountMinor = Annotated[int, msgspec.Meta(ge=0, le=10**15)]
Currency = Annotated[str, msgspec.Meta(pattern="^[A-Z]{3}$")]
Timestamp = str
"""RFC 3339, UTC."""


class Payload(msgspec.Struct, frozen=True, kw_only=True):
    """What every payload says: which order it is about."""

    order_id: str


class OrderLine(msgspec.Struct, frozen=True, kw_only=True):
    sku: str
    quantity: Annotated[int, msgspec.Meta(ge=1)]
    unit_price_minor: AmountMinor


class OrderPlaced(Payload, frozen=True, kw_only=True):
    customer_id: str
    email: str
    currency: Currency
    amount_minor: AmountMinor
    lines: tuple[OrderLine, ...]
    placed_at: Timestamp


class OrderConfirmed(Payload, frozen=True, kw_only=True):
    invoice_number: str


class OrderCancelled(Payload, frozen=True, kw_only=True):
    reason: Literal["customer", "payment_declined"]
    currency: Currency
    amount_minor: AmountMinor


class InvoiceIssued(Payload, frozen=True, kw_only=True):
    invoice_number: str
    customer_id: str
    email: str
    currency: Currency
    amount_minor: AmountMinor
    issued_at: Timestamp


class PaymentDeclined(Payload, frozen=True, kw_only=True):
    reason: str
    currency: Currency
    amount_minor: AmountMinor


class CreditNoteIssued(Payload, frozen=True, kw_only=True):
    credit_note_number: str
    invoice_number: str
    currency: Currency
    amount_minor: AmountMinor
    issued_at: Timestamp


class SendInvoice(Payload, frozen=True, kw_only=True):
    """Command: send the customer the invoice. Its one receiver is the notifications service."""

    invoice_number: str
    email: str
    currency: Currency
    amount_minor: AmountMinor
    lines: tuple[OrderLine, ...]
    issued_at: Timestamp


PAYLOADS: Mapping[str, type[Payload]] = MappingProxyType(
    {
        kind.__name__: kind
        for kind in (
            OrderPlaced,
            OrderConfirmed,
            OrderCancelled,
            InvoiceIssued,
            PaymentDeclined,
            CreditNoteIssued,
            SendInvoice,
        )
    }
)

SCHEMA_VERSION = 1
"""The version that producers write into ``ce_dataschema`` (``urn:effectively-once:OrderPlaced:1``)."""

_encoder = msgspec.json.Encoder()
_decoders = {name: msgspec.json.Decoder(kind) for name, kind in PAYLOADS.items()}


def encode(payload: Payload) -> bytes:
    """Serialise a payload to the JSON bytes that every copy of the event will carry."""
    return _encoder.encode(payload)


def decode(type_name: str, payload: bytes, schema: str | None = None) -> Payload:
    """Read a payload, written by the schema that its envelope names.

    Raises PermanentError for a type that is not known, for a schema from the future, and for bytes that are not that
    type's.
    """
    decoder = _decoders.get(type_name)
    if decoder is None:
        raise PermanentError(f"the event type {type_name!r} is not known here")
    if schema is not None and schema != _DATASCHEMAS[type_name]:
        _refuse_future(type_name, schema)
    try:
        return decoder.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise PermanentError(f"the payload is not a {type_name}: {error}") from error


def dataschema(type_name: str) -> str:
    """Return the ``ce_dataschema`` of a type."""
    return f"urn:effectively-once:{type_name}:{SCHEMA_VERSION}"


_DATASCHEMAS = {name: dataschema(name) for name in PAYLOADS}


def _refuse_future(type_name: str, schema: str) -> None:
    """Raise PermanentError for a version that this code is too old to read: its fields may mean something else."""
    version = schema.rpartition(":")[2]
    if not version.isdecimal():
        raise PermanentError(f"the schema {schema!r} of {type_name} names no version")
    if int(version) > SCHEMA_VERSION:
        raise PermanentError(
            f"{type_name} is written by version {version} of its schema, and this consumer reads up to "
            f"{SCHEMA_VERSION}. Deploy a consumer that knows it, then redrive."
        )
