"""The evidence as the checker keeps it in memory: only the columns that an invariant reads.

Tuples because there are many of them. Of events, copies and what was applied there are millions, and of most of these
no tuple is made (`columnwise.py`). Times stay text until somebody compares times of two files: within one file they are
written alike and sort as they are.
"""

from __future__ import annotations

from typing import NamedTuple


class Intent(NamedTuple):
    n: int
    op: str
    customer_id: str
    order_ref: str
    started_at: str
    result: str
    order_id: str | None
    key: str | None
    currency: str | None
    amount_minor: int | None
    expect: str | None
    replayed: bool
    ended_at: str | None
    status: int | None


class Order(NamedTuple):
    order_id: str
    customer_id: str
    currency: str
    amount_minor: int
    state: str
    version: int
    invoice_number: str | None


class IdempotencyKey(NamedTuple):
    customer_id: str
    key: str
    order_id: str


class Event(NamedTuple):
    """A row of an outbox: an event, or a command."""

    database: str
    xid: int
    id: int
    event_id: str
    aggregate_type: str
    aggregate_id: str
    version: int
    lane: int
    destination: str
    type: str
    digest: bytes
    occurred_at: str


class Copy(NamedTuple):
    """A message in the log: one of the copies of an event."""

    topic: str
    partition: int
    offset: int
    event_id: str | None
    type: str | None
    aggregate_type: str | None
    aggregate_id: str | None
    version: int | None
    timestamp: str | None
    digest: bytes
    """The first half of the SHA-256 of the payload; of both, when the archiver's own differs from what it kept."""
    # What the payload says, as far as an invariant asks.
    currency: str | None
    amount_minor: int | None
    reason: str | None
    day: str | None
    """The UTC day on which it was issued or placed."""
    lines: tuple[tuple[str, int, int], ...]
    """SKU, quantity and amount of each line of a placed order."""

    @property
    def spot(self) -> str:
        """Where it stands, the way people look it up."""
        return f"{self.topic}/{self.partition}@{self.offset}"


class Applied(NamedTuple):
    """A row of an inbox: an event that a group has taken, with the copy and the member it came by."""

    group: str
    event_id: str
    topic: str
    partition: int
    offset: int
    member: str
    generation: int
    aggregate_id: str
    version: int
    applied_at: str


class Delivery(NamedTuple):
    group: str
    topic: str
    partition: int
    offset: int
    last_offset: int
    instance: str
    member: str
    generation: int
    at: str
    duplicate: bool


class Lane(NamedTuple):
    """Where a relay stands in one lane of one destination; snapshots as text."""

    database: str
    destination: str
    lane: int
    done: str
    target: str | None
    after_id: int


class ParkedRow(NamedTuple):
    """An outbox row that a relay has given up on (`parked`) or keeps behind one (`held`)."""

    database: str
    outbox_id: int
    state: str
    last_error: str


class ParkedMessage(NamedTuple):
    """A message that a consumer has set aside; one that nobody could read has a place and no event id."""

    consumer: str
    event_id: str | None
    spot: str | None


class Bill(NamedTuple):
    order_id: str
    state: str
    currency: str
    amount_minor: int


class Payment(NamedTuple):
    order_id: str
    status: str
    currency: str
    amount_minor: int


class Invoice(NamedTuple):
    number: str
    series: str
    year: int
    sequence: int
    order_id: str
    currency: str
    amount_minor: int
    event_id: str | None
    applied_at: str


class CreditNote(NamedTuple):
    number: str
    series: str
    year: int
    sequence: int
    order_id: str
    currency: str
    amount_minor: int
    invoice_number: str
    issued_at: str | None


class NumberSeries(NamedTuple):
    series: str
    year: int
    next_sequence: int


class Revenue(NamedTuple):
    day: str
    currency: str
    invoices: int
    amount_minor: int
    credited_minor: int


class StateCount(NamedTuple):
    state: str
    orders: int


class DayCount(NamedTuple):
    day: str
    currency: str
    state: str
    orders: int


class OrderedSku(NamedTuple):
    currency: str
    sku: str
    orders: int
    quantity: int
    amount_minor: int


class SentEmail(NamedTuple):
    event_id: str
    order_id: str
    state: str


class Mail(NamedTuple):
    at: str
    key: str
    recipient: str
    order_id: str | None
    invoice_number: str | None


class FaultMark(NamedTuple):
    fault: str
    phase: str
    at: str
    act: str | None
    target: str | None
    failpoint: str | None
    detail: str | None


class OwnerMark(NamedTuple):
    """Who took or gave up a lane or a partition; for stories."""

    at: str
    instance: str
    of: str
    unit: str
    what: str


class ProcessMark(NamedTuple):
    at: str
    instance: str
    what: str


class Mark(NamedTuple):
    """The marks of a partition as a group sees it at the end of the run."""

    group: str
    topic: str
    partition: int
    committed: int | None
    low: int
    end: int
