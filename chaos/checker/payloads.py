"""What payloads say: a digest to compare copies by, and the facts that an invariant asks for."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from operator import itemgetter, methodcaller
from typing import Any

from chaos.checker.columns import Pool, shared
from chaos.checker.fields import Column, fields

DIGEST_BYTES = 16
FIRST_DIGITS = itemgetter(slice(2 * DIGEST_BYTES))
AS_BYTES = methodcaller("startswith", "\\x")
SAID = fields((), ("currency", "amount_minor", "reason", "issued_at", "placed_at", "lines"))
NO_FACTS: tuple[Any, ...] = (None, None, None, None, ())
NOTHING = "{}"
TELLING = frozenset({"OrderPlaced", "OrderCancelled", "InvoiceIssued", "PaymentDeclined", "CreditNoteIssued"})


def digests(payloads: Sequence[str]) -> Iterable[bytes]:
    """Return the digests of payloads as a database dump shows them: text, or `\\x` and hexadecimal digits."""
    if any(map(AS_BYTES, payloads)):
        return [_sum(bytes.fromhex(payload[2:]) if AS_BYTES(payload) else payload.encode()) for payload in payloads]
    return [sha256(payload).digest()[:DIGEST_BYTES] for payload in map(str.encode, payloads)]


def digests_of_copies(payloads: Sequence[str | None], claimed: Sequence[str]) -> Iterable[bytes]:
    """Return the digests of what was archived; those that agree with nothing where the archiver contradicts itself."""
    if None not in payloads:
        sums = [sha256(payload).hexdigest() for payload in map(str.encode, payloads)]  # type: ignore[arg-type]
        if sums == [*claimed]:
            return map(bytes.fromhex, map(FIRST_DIGITS, sums))
    return map(digest_of_copy, payloads, claimed)


def digest_of_copy(payload: str | None, claimed: str) -> bytes:
    theirs = bytes.fromhex(claimed)[:DIGEST_BYTES]
    if payload is None:
        return theirs
    found = _sum(payload.encode())
    return found if sha256(payload.encode()).hexdigest() == claimed else found + theirs


def _sum(raw: bytes) -> bytes:
    return sha256(raw).digest()[:DIGEST_BYTES]


def facts_of(kinds: Sequence[str | None], payloads: Sequence[str | None], pool: Pool) -> Sequence[Column]:
    """Return the facts that these payloads tell, a column each, in so far as an invariant asks events of their kind."""
    told = [payload if payload and kind in TELLING else NOTHING for kind, payload in zip(kinds, payloads, strict=True)]
    return _read(told, pool) or [*zip(*[_facts(payload, pool) for payload in told], strict=True)]


def _read(payloads: Sequence[str], pool: Pool) -> Sequence[Column] | None:
    """Return the facts of payloads that all say what they should; None when it takes a closer look at each."""
    try:
        # As lines, so that an unfinished string cannot reach into the next payload.
        currencies, amounts, reasons, issued, placed, lines = SAID.columns("\n".join([*payloads, ""]).encode())
        moments = [at or then for at, then in zip(issued, placed, strict=True)]
        days = [day_of(moment) if moment else None for moment in moments]
        bought = [_lines(said) if said else () for said in lines]
        same = [[*shared(column, pool)] for column in (currencies, reasons, days, bought)]
    except (ValueError, KeyError, AttributeError, TypeError):
        return None
    return [same[0], amounts, *same[1:]] if len(amounts) == len(payloads) else None


def _facts(payload: str, pool: Pool) -> tuple[Any, ...]:
    # A payload that nobody can read tells nothing; that it was parked or not is S12's and S25's to judge.
    try:
        said = json.loads(payload)
        moment = said.get("issued_at") or said.get("placed_at")
        told = said.get("currency"), said.get("reason"), day_of(moment) if moment else None, _lines(said.get("lines"))
        currency, *others = map(pool.setdefault, told, told)
        return currency, said.get("amount_minor"), *others
    except (ValueError, KeyError, AttributeError, TypeError):
        return NO_FACTS


def _lines(said: Any) -> tuple[tuple[str, int, int], ...]:
    return tuple([(line["sku"], line["quantity"], line["quantity"] * line["unit_price_minor"]) for line in said or ()])


def day_of(timestamp: str) -> str:
    """Return the UTC day of a timestamp."""
    if timestamp.endswith(("Z", "+00:00")):
        return timestamp[:10]
    return datetime.fromisoformat(timestamp).astimezone(UTC).date().isoformat()
