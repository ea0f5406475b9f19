"""What payloads say: a digest to compare copies by, and the facts that an invariant asks for."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from itertools import compress
from operator import itemgetter, methodcaller
from typing import Any

from chaos.checker.columns import Pool, records, shared
from chaos.checker.fields import fields
from chaos.checker.records import Facts

DIGEST_BYTES = 16
FIRST_DIGITS = itemgetter(slice(2 * DIGEST_BYTES))
AS_BYTES = methodcaller("startswith", "\\x")
SAID = fields((), ("currency", "amount_minor", "reason", "issued_at", "placed_at", "lines"))
NO_FACTS = Facts(None, None, None, None)
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


def facts_of(kinds: Sequence[str | None], payloads: Sequence[str | None], pool: Pool) -> list[Facts]:
    """Return the facts that these payloads tell, in so far as an invariant asks events of their kind."""
    said = [*map(TELLING.__contains__, kinds)]
    read = iter(_read([payload or "null" for payload in compress(payloads, said)], pool))
    return [next(read) if telling else NO_FACTS for telling in said]


def _read(payloads: Sequence[str], pool: Pool) -> Iterable[Facts]:
    if not payloads:
        return []
    try:
        # As lines, so that an unfinished string cannot reach into the next payload.
        currencies, amounts, reasons, issued, placed, lines = SAID.columns("\n".join([*payloads, ""]).encode())
        days = [_day(*moments) for moments in zip(issued, placed, strict=True)]
        bought = [_lines(said) if said else () for said in lines]
        told = (shared(currencies, pool), amounts, shared(reasons, pool), shared(days, pool), shared(bought, pool))
        facts = [*records(Facts, told)]
    except (ValueError, KeyError, AttributeError, TypeError):
        facts = []
    return facts if len(facts) == len(payloads) else [_facts(_document(payload), pool) for payload in payloads]


def _facts(said: Any, pool: Pool) -> Facts:
    # A payload that nobody can read tells nothing; that it was parked or not is S12's and S25's to judge.
    if not isinstance(said, dict):
        return NO_FACTS
    try:
        currency, reason, same = said.get("currency"), said.get("reason"), pool.setdefault
        day, lines = _day(said.get("issued_at"), said.get("placed_at")), _lines(said.get("lines"))
        return Facts(
            same(currency, currency), said.get("amount_minor"), same(reason, reason), same(day, day), same(lines, lines)
        )
    except (ValueError, KeyError, AttributeError, TypeError):
        return NO_FACTS


def _day(issued_at: str | None, placed_at: str | None) -> str | None:
    moment = issued_at or placed_at
    return day_of(moment) if moment else None


def _lines(said: Any) -> tuple[tuple[str, int, int], ...]:
    return tuple([(line["sku"], line["quantity"], line["quantity"] * line["unit_price_minor"]) for line in said or ()])


def _document(payload: str) -> Any:
    try:
        return json.loads(payload)
    except ValueError:
        return None


def day_of(timestamp: str) -> str:
    """Return the UTC day of a timestamp."""
    if timestamp.endswith(("Z", "+00:00")):
        return timestamp[:10]
    return datetime.fromisoformat(timestamp).astimezone(UTC).date().isoformat()
