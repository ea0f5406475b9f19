"""The load's own record of what it asked for and what it heard: a JSON object a line, as docs/evidence-format.md says.

Invariant: an attempt stands in the file as ``info`` before its first byte leaves, and its answer follows under the same
number. A load that is killed leaves open questions behind, never a wrong statement.
"""

import itertools
import json
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TextIO

Result = Literal["ok", "fail", "info"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """One HTTP attempt and how its order has to end."""

    n: int = 0
    op: Literal["place", "cancel"]
    key: str | None
    customer_id: str
    order_ref: str
    order_id: str | None
    currency: str
    amount_minor: int
    expect: Literal["invoiced", "declined", "cancelled"]
    started_at: str | None = None
    ended_at: str | None = None
    result: Result = "info"
    status: int | None = None
    replayed: bool = False


class Journal:
    """Appends to one file. For greenlets of one process: a line is written without yielding."""

    def __init__(self, path: Path | None) -> None:
        self._file: TextIO | None = None
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("w", encoding="utf-8", buffering=1)
        self._numbers = itertools.count(1)

    def begin(self, intent: Intent) -> Intent:
        """Write down what is about to be asked."""
        begun = replace(intent, n=next(self._numbers), started_at=_now())
        self._write(begun)
        return begun

    def end(self, intent: Intent, result: Result, status: int, order_id: str | None, replayed: bool) -> None:
        """Write down what came back; status 0 means nothing did."""
        self._write(
            replace(
                intent,
                order_id=intent.order_id or order_id,
                ended_at=_now(),
                result=result,
                status=status or None,
                replayed=replayed,
            )
        )

    def _write(self, intent: Intent) -> None:
        if self._file:
            self._file.write(json.dumps(asdict(intent)) + "\n")


def result_of(status: int, op: str) -> Result:
    """Tell what a status says for certain. No answer, a 5xx and a request still in flight say nothing."""
    if 200 <= status < 300:
        return "ok"
    if status == 0 or status >= 500 or status == 429 or (status == 409 and op == "place"):
        return "info"
    return "fail"


def _now() -> str:
    return datetime.now(UTC).isoformat()
