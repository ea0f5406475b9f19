"""Read an order from the body of a request, or say in words why it cannot be taken.

Invariant: what comes out can be stored, totalled, mailed and printed by every service behind this one. Amounts are
integers of the currency's minor unit; no text has a control character, a NUL or half a surrogate pair; no member was
given twice, since two readers could then see two different orders.

Not promised: that the address receives mail or that the customer exists. Members that are not known are ignored.
"""

import json
import re
import unicodedata
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from services.orders.errors import InvalidKeyError, InvalidOrderError, UnknownCurrencyError, UnreadableOrderError
from shared.events import CURRENCIES, OrderLine

MAX_LINES = 100
MAX_TOTAL_MAJOR = 100_000_000
"""Largest total, in whole units of its currency: the sum of 80 million such orders still fits a bigint."""

Name = Annotated[str, Meta(min_length=1, max_length=64)]

# The shape that HTML forms accept, ASCII only: nothing in it can end a mail header or needs a quoted local part.
_EMAIL = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63})*")
_KEY = re.compile(r"[\x21-\x7e]{1,200}")
_UNPRINTABLE = {
    "Cc": "a control character",
    "Cs": "half of a surrogate pair",
    "Cf": "an invisible formatting character",
    "Zl": "a line separator",
    "Zp": "a paragraph separator",
}


class Line(msgspec.Struct, frozen=True, kw_only=True):
    sku: Name
    quantity: Annotated[int, Meta(ge=1, le=100_000)]
    unit_price_minor: Annotated[int, Meta(ge=1, le=MAX_TOTAL_MAJOR * 1_000)]


class OrderRequest(msgspec.Struct, frozen=True, kw_only=True):
    """An order as a client asks for it. ``email`` is where the invoice goes."""

    customer_id: Name
    email: Annotated[str, Meta(min_length=3, max_length=254)]
    currency: str
    lines: Annotated[tuple[Line, ...], Meta(min_length=1, max_length=MAX_LINES)]

    @property
    def amount_minor(self) -> int:
        return sum(line.quantity * line.unit_price_minor for line in self.lines)

    def order_lines(self) -> tuple[OrderLine, ...]:
        return tuple(OrderLine(**msgspec.structs.asdict(line)) for line in self.lines)


def read_order(body: bytes) -> OrderRequest:
    """Return the order that the body asks for.

    Raises UnreadableOrderError for what is not JSON, InvalidOrderError for what is JSON and not an order.
    """
    try:
        request = msgspec.convert(_read_json(body), OrderRequest)
    except msgspec.ValidationError as error:
        raise InvalidOrderError(f"The order does not have the right shape: {error}.") from None
    _check_texts(request)
    _check_money(request)
    return request


def read_key(header: str | None) -> str:
    """Return the Idempotency-Key. Raises InvalidKeyError when it is missing or not 1 to 200 printable ASCII signs."""
    if header is None:
        raise InvalidKeyError(
            "The header Idempotency-Key is missing. Send a fresh UUID with each new order, and the same one with "
            "each retry of it; a retry is then never a second order."
        )
    if not _KEY.fullmatch(header):
        raise InvalidKeyError("The Idempotency-Key has to be 1 to 200 visible ASCII characters without spaces.")
    return header


def _read_json(body: bytes) -> Any:
    try:
        return json.loads(body.decode(), object_pairs_hook=_refuse_doubles, parse_constant=_refuse_constant)
    except RecursionError:
        raise UnreadableOrderError("The body is nested too deeply to be an order.") from None
    except ValueError as error:
        raise UnreadableOrderError(f"The body is not JSON in UTF-8: {error}.") from None


def _refuse_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise UnreadableOrderError("The body has an object with the same member twice, so it can be read in two ways.")
    return members


def _refuse_constant(name: str) -> Any:
    raise UnreadableOrderError(f"The body has {name}, which is not JSON.")


def _check_texts(request: OrderRequest) -> None:
    texts = {"customer_id": request.customer_id, "currency": request.currency, "email": request.email}
    texts |= {f"lines[{n}].sku": line.sku for n, line in enumerate(request.lines)}
    for name, text in texts.items():
        for sign in text:
            if fault := _UNPRINTABLE.get(unicodedata.category(sign)):
                raise InvalidOrderError(f"{name} has {fault} (U+{ord(sign):04X}). Leave it out.")
        if not text.strip():
            raise InvalidOrderError(f"{name} is blank.")
    if not _EMAIL.fullmatch(request.email):
        raise InvalidOrderError("email is not an address such as ada@example.org (ASCII, one @, no spaces).")


def _check_money(request: OrderRequest) -> None:
    decimals = CURRENCIES.get(request.currency)
    if decimals is None:
        raise UnknownCurrencyError(f"The currency {request.currency[:10]!r} is not taken. Known: {_known()}.")
    if request.amount_minor > MAX_TOTAL_MAJOR * 10**decimals:
        raise InvalidOrderError(
            f"The total of {request.amount_minor} minor units is above the largest order taken, "
            f"{MAX_TOTAL_MAJOR * 10**decimals} minor units of {request.currency}."
        )


def _known() -> str:
    return ", ".join(sorted(CURRENCIES))
