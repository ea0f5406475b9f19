"""What payloads say: a digest to compare copies by, and the facts that an invariant asks for."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from chaos.checker.columns import Pool
from chaos.checker.records import Facts

DIGEST_BYTES = 16
NO_FACTS = Facts(None, None, None, None)
TELLING = frozenset({"OrderPlaced", "OrderCancelled", "InvoiceIssued", "PaymentDeclined", "CreditNoteIssued"})


def digest(payload: str) -> bytes:
    """Return the digest of a payload as a database dump shows it: text, or `\\x` and hexadecimal digits."""
    raw = bytes.fromhex(payload[2:]) if payload.startswith("\\x") else payload.encode()
    return sha256(raw).digest()[:DIGEST_BYTES]


def digest_of_copy(payload: str | None, claimed: str) -> bytes:
    """Return the digest of what was archived; one that agrees with nothing when the archiver contradicts itself."""
    if payload is None:
        return bytes.fromhex(claimed)[:DIGEST_BYTES]
    found = sha256(payload.encode()).digest()
    if found.hex() != claimed:
        return found[:DIGEST_BYTES] + bytes.fromhex(claimed)[:DIGEST_BYTES]
    return found[:DIGEST_BYTES]


class FactsOfEvents:
    """The facts of the first copies of events; other copies share them when they say the same."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._seen: dict[str, tuple[str, Facts]] = {}

    def of(self, ids: Sequence[str | None], kinds: Sequence[str | None], payloads: Sequence[str | None],
           digests: Sequence[str]) -> list[Facts]:  # fmt: skip
        """Return the facts of some copies, given their columns; the digests as the archiver wrote them."""
        facts, unread = [NO_FACTS] * len(ids), []
        for place, (event_id, said) in enumerate(zip(ids, digests, strict=True)):
            earlier = self._seen.get(event_id) if event_id is not None else None
            if earlier is not None and earlier[0] == said:
                facts[place] = earlier[1]
            elif event_id is not None and payloads[place] is not None and kinds[place] in TELLING:
                unread.append(place)
        for place, read in zip(unread, self._read([str(payloads[place]) for place in unread]), strict=True):
            facts[place] = read
            self._seen.setdefault(str(ids[place]), (digests[place], read))
        return facts

    def _read(self, payloads: Sequence[str]) -> Iterable[Facts]:
        try:
            # As lines, so that an unfinished string cannot reach into the next payload.
            documents = json.loads("[" + ",\n".join(payloads) + "]")
        except ValueError:
            documents = []
        if len(documents) != len(payloads):
            documents = [_document(payload) for payload in payloads]
        return map(self._facts, documents)

    def _facts(self, said: Any) -> Facts:
        # A payload that nobody can read tells nothing; that it was parked or not is S12's and S25's to judge.
        if not isinstance(said, dict):
            return NO_FACTS
        try:
            issued_at, same = said.get("issued_at"), self._pool.setdefault
            currency, reason = said.get("currency"), said.get("reason")
            day = day_of(issued_at) if issued_at else None
            return Facts(same(currency, currency), said.get("amount_minor"), same(reason, reason), same(day, day))
        except (ValueError, AttributeError, TypeError):
            return NO_FACTS


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
