"""The evidence of a run as plain records, and how they look as JSON.

Standard library only, as the checker: neither may depend on anything that is judged. The format is described field by
field in docs/evidence-format.md; the files that grow while a run goes on are in ``journal.py``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, TypeVar
from uuid import UUID


class Operation(StrEnum):
    PLACE = "place"
    CANCEL = "cancel"


class Outcome(StrEnum):
    """How the order of an intent has to end, foretold by the client before it is sent."""

    INVOICED = "invoiced"
    DECLINED = "declined"
    CANCELLED = "cancelled"


class Result(StrEnum):
    """What the client knows of an attempt: done, definitely not done, or anything is possible."""

    OK = "ok"
    FAIL = "fail"
    INFO = "info"


class FaultPhase(StrEnum):
    INJECT = "inject"
    HIT = "hit"
    HEAL = "heal"
    PROBE = "probe"


class Change(StrEnum):
    STARTED = "started"
    EXITED = "exited"


class Holding(StrEnum):
    TAKEN = "taken"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """One HTTP attempt. A later line with the same `n` replaces it: write INFO before sending, the answer after."""

    file: ClassVar[str] = "intents.jsonl"

    n: int
    op: Operation
    key: str | None
    customer_id: str
    order_ref: str
    order_id: str | None = None
    currency: str | None = None
    amount_minor: int | None = None
    expect: Outcome | None = None
    started_at: datetime
    ended_at: datetime | None = None
    result: Result
    status: int | None = None
    replayed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRecord:
    """One message as it stands in the log. `payload` is None when the value is not UTF-8; `sha256` is of its bytes."""

    file: ClassVar[str] = "log.jsonl"

    topic: str
    partition: int
    offset: int
    key: str | None
    event_id: str | None
    type: str | None
    aggregate_type: str | None
    aggregate_id: str | None
    aggregate_version: int | None
    payload: str | None
    sha256: str
    timestamp: datetime | None
    archived_at: datetime
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """Messages a member was given and whose batch it committed: one offset, or all from `offset` to `last_offset`."""

    file: ClassVar[str] = "deliveries.jsonl"

    group: str
    topic: str
    partition: int
    offset: int
    last_offset: int | None = None
    instance: str
    member: str
    generation: int
    at: datetime
    duplicate: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """One mail as the sink received it; `answered` is False when the sink took it and withheld its answer."""

    file: ClassVar[str] = "mail.jsonl"

    at: datetime
    message_id: str
    recipient: str
    order_id: str | None = None
    invoice_number: str | None = None
    sha256: str
    answered: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultMark:
    """One moment in the life of a fault. A HIT is written before the fault acts."""

    file: ClassVar[str] = "faults.jsonl"

    fault: str
    act: str | None = None
    phase: FaultPhase
    at: datetime
    target: str | None = None
    pid: int | None = None
    failpoint: str | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessMark:
    """A process of the system started or ended."""

    file: ClassVar[str] = "processes.jsonl"

    at: datetime
    instance: str
    pid: int | None
    what: Change
    detail: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerMark:
    """A process took or gave up a part of the work: a lane of a relay's, or a partition of a group's."""

    file: ClassVar[str] = "owners.jsonl"

    at: datetime
    instance: str
    of: str
    unit: str
    what: Holding


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What was run and what its scenario expects; `expect` is described in docs/evidence-format.md."""

    file: ClassVar[str] = "run.json"

    run: str
    scenario: str
    seed: int
    started_at: datetime
    ended_at: datetime | None = None
    expect: Mapping[str, Any] = field(default_factory=dict)
    groups: Mapping[str, list[str]] = field(default_factory=dict)
    guard_off: str | None = None
    canaries: bool = True
    about: Mapping[str, Any] = field(default_factory=dict)


Record = Intent | LogRecord | Delivery | Mail | FaultMark | ProcessMark | OwnerMark | Run
R = TypeVar("R", bound=Record)


def plain(value: object) -> object:
    """Turn a driver's value into JSON: bytes into text when UTF-8, else PostgreSQL's `\\x…`; the rest into strings."""
    if isinstance(value, bytes | bytearray | memoryview):
        raw = bytes(value)
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return "\\x" + raw.hex()
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    if isinstance(value, UUID | date | Decimal | Path):
        return str(value)
    raise TypeError(f"a {type(value).__name__} has no place in the evidence: {value!r}")


def to_line(row: Mapping[str, object]) -> bytes:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"), default=plain).encode() + b"\n"


def as_row(record: Record) -> dict[str, object]:
    """Return the record as the mapping that is written; a Delivery of one offset leaves `last_offset` out."""
    row = {f.name: getattr(record, f.name) for f in fields(record)}
    if row.get("last_offset", 0) is None:
        del row["last_offset"]
    return row


def from_row(kind: type[R], row: Mapping[str, Any]) -> R:
    """Build a record from a parsed line. Unknown fields are ignored; raises KeyError when a needed one is missing."""
    built: R = kind(
        **{name: convert(row[name]) for name, convert, needed in _converters(kind) if needed or name in row}
    )
    return built


def _converters(kind: type[R]) -> tuple[tuple[str, Any, bool], ...]:
    return tuple((f.name, _converter(f), _is_needed(f)) for f in fields(kind))


def _is_needed(f: Field[Any]) -> bool:
    return f.default is MISSING and f.default_factory is MISSING


def _converter(f: Field[Any]) -> Any:
    name = str(f.type).removesuffix(" | None")
    convert = _CONVERTERS.get(name)
    if convert is None:
        return lambda value: value
    return lambda value: None if value is None else convert(value)


_CONVERTERS: Mapping[str, Any] = {
    "datetime": datetime.fromisoformat,
    "Operation": Operation,
    "Outcome": Outcome,
    "Result": Result,
    "FaultPhase": FaultPhase,
    "Change": Change,
    "Holding": Holding,
}


def write_rows(path: Path, rows: Iterable[Mapping[str, object]]) -> int:
    """Write a whole table, such as a database dump, and return the number of rows. Replaces the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    with path.open("wb") as file:
        for row in rows:
            file.write(to_line(row))
            count += 1
    return count


def write_run(directory: Path, run: Run) -> None:
    """Write run.json; call it again at the end of the run with `ended_at`."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / Run.file).write_text(json.dumps(as_row(run), ensure_ascii=False, indent=2, default=plain) + "\n")


def read_run(directory: Path) -> Run:
    return from_row(Run, json.loads((directory / Run.file).read_text()))
