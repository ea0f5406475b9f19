"""The events and commands of the system, as typed payloads. The one file of ``shared`` with business words.

An event is a fact, named in the past tense, and is never changed once written; a command asks one receiver to do
something. Amounts are integers in the minor unit of an ISO 4217 currency. Unknown fields are ignored, so that a newer
producer does not stop an older consumer; an unknown type or a broken payload is a PermanentError, never skipped.

A shape that was ever published is read for ever, since the log and the parking lots keep it: it stands in ``OLDER``
with an upcaster, and handlers see today's shape alone. docs/contracts/README.md says how to change one.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Literal

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
    """What every payload is."""


class OrderPayload(Payload, frozen=True, kw_only=True):
    """What every payload of the business says: which order it is about."""

    order_id: str


class OrderLine(msgspec.Struct, frozen=True, kw_only=True):
    sku: str
    quantity: Annotated[int, msgspec.Meta(ge=1)]
    unit_price_minor: AmountMinor


class OrderPlaced(OrderPayload, frozen=True, kw_only=True):
    customer_id: str
    email: str
    currency: Currency
    amount_minor: AmountMinor
    lines: tuple[OrderLine, ...]
    placed_at: Timestamp


class OrderConfirmed(OrderPayload, frozen=True, kw_only=True):
    invoice_number: str


class OrderCancelled(OrderPayload, frozen=True, kw_only=True):
    reason: Literal["customer", "payment_declined"]
    currency: Currency
    amount_minor: AmountMinor


class InvoiceIssued(OrderPayload, frozen=True, kw_only=True):
    invoice_number: str
    customer_id: str
    email: str
    currency: Currency
    amount_minor: AmountMinor
    issued_at: Timestamp


class PaymentDeclinedV1(OrderPayload, frozen=True, kw_only=True):
    """As published until ``reason`` had to serve both programs and people."""

    reason: str
    currency: Currency
    amount_minor: AmountMinor


class PaymentDeclined(OrderPayload, frozen=True, kw_only=True):
    code: str
    """For programs: one word, which never changes its meaning."""
    detail: str
    """For people; empty where nothing is known beyond the code."""
    currency: Currency
    amount_minor: AmountMinor


def payment_declined_from_v1(old: PaymentDeclinedV1) -> PaymentDeclined:
    """Upcast: what was called the reason has always been the code."""
    return PaymentDeclined(
        order_id=old.order_id, code=old.reason, detail="", currency=old.currency, amount_minor=old.amount_minor
    )


class CreditNoteIssued(OrderPayload, frozen=True, kw_only=True):
    credit_note_number: str
    invoice_number: str
    currency: Currency
    amount_minor: AmountMinor
    issued_at: Timestamp


class SendInvoice(OrderPayload, frozen=True, kw_only=True):
    """Command: send the customer the invoice. Its one receiver is the notifications service."""

    invoice_number: str
    email: str
    currency: Currency
    amount_minor: AmountMinor
    lines: tuple[OrderLine, ...]
    issued_at: Timestamp


class DeliveryParked(Payload, frozen=True, kw_only=True):
    """A consumer could not apply a message and keeps it in its parking lot, where a person decides.

    What the message says of itself is null where it does not say it, or not readably, and is cut where it is long.
    """

    consumer: str
    entry: int
    """Its number in the lot: ``once parked show SERVICE inbox NUMBER``."""
    topic: str
    partition: int
    offset: int
    event_id: str | None
    type: str | None
    aggregate_type: str | None
    aggregate_id: str | None
    aggregate_version: int | None
    attempts: int
    error: str


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
            DeliveryParked,
        )
    }
)


@dataclass(frozen=True, slots=True)
class Older:
    """A shape as it was once published, and the pure function that makes the next one of it."""

    kind: type[Payload]
    upcast: Callable[[Any], Payload]


OLDER: Mapping[str, tuple[Older, ...]] = MappingProxyType(
    {"PaymentDeclined": (Older(PaymentDeclinedV1, payment_declined_from_v1),)}
)
"""What came before today's shape, version 1 first. A type that is not named here has only ever had one."""


def version(type_name: str) -> int:
    """Return the version of a type's schema that is written today."""
    return len(OLDER.get(type_name, ())) + 1


def dataschema(type_name: str, number: int | None = None) -> str:
    """Return the ``ce_dataschema`` of a type: ``urn:effectively-once:OrderPlaced:1``."""
    return f"urn:effectively-once:{type_name}:{version(type_name) if number is None else number}"


Reader = Callable[[bytes], Payload]


def _readers(type_name: str) -> dict[str | None, Reader]:
    """Return how to read each version of a type, by its schema; without one it is today's."""
    today: Reader = msgspec.json.Decoder(PAYLOADS[type_name]).decode
    readers: dict[str | None, Reader] = {None: today, dataschema(type_name): today}
    older = OLDER.get(type_name, ())
    for place, shape in enumerate(older):
        readers[dataschema(type_name, place + 1)] = _upcasting(shape.kind, [each.upcast for each in older[place:]])
    return readers


def _upcasting(kind: type[Payload], steps: list[Callable[[Any], Payload]]) -> Reader:
    decoder = msgspec.json.Decoder(kind)

    def read(written: bytes) -> Payload:
        payload: Payload = decoder.decode(written)
        for upcast in steps:
            payload = upcast(payload)
        return payload

    return read


_encoder = msgspec.json.Encoder()
_READERS = {name: _readers(name) for name in PAYLOADS}


def encode(payload: Payload) -> bytes:
    """Serialise a payload to the JSON bytes that every copy of the event will carry."""
    return _encoder.encode(payload)


def decode(type_name: str, payload: bytes, schema: str | None = None) -> Payload:
    """Read a payload, written by the schema that its envelope names, and return it in today's shape.

    Raises PermanentError for a type that is not known, for a schema from the future, and for bytes that are not that
    type's.
    """
    readers = _READERS.get(type_name)
    if readers is None:
        raise PermanentError(f"the event type {type_name!r} is not known here")
    read = readers.get(schema)
    if read is None:
        raise _unreadable(type_name, schema)
    try:
        return read(payload)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise PermanentError(f"the payload is not a {type_name}: {error}") from error


def _unreadable(type_name: str, schema: str | None) -> PermanentError:
    """Say why a schema is not read: to guess would be to take its fields for something that they may not be."""
    number = str(schema).rpartition(":")[2]
    if number.isdecimal() and schema == dataschema(type_name, int(number)) and int(number) > version(type_name):
        return PermanentError(
            f"{type_name} is written by version {number} of its schema, and this consumer reads up to "
            f"{version(type_name)}. Deploy a consumer that knows it, then redrive."
        )
    return PermanentError(f"the schema {schema!r} is none of {type_name}")
