"""What the databases know of an order: outbox and inbox rows, invoices, e-mails. Reads only."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from gettext import gettext as _
from typing import LiteralString
from uuid import UUID

import psycopg
from psycopg.rows import class_row, dict_row

from infra.trace.moment import Moment, Where


@dataclass(frozen=True, slots=True)
class OutboxRow:
    id: int
    event_id: UUID
    type: str
    aggregate_version: int
    destination: str
    lane: int
    occurred_at: datetime
    traceparent: str | None


@dataclass(frozen=True, slots=True)
class InboxRow:
    consumer: str
    event_id: UUID
    topic: str
    partition: int
    offset: int
    member: str
    generation: int
    applied_at: datetime


_OUTBOX: LiteralString = """
SELECT id, event_id, type, aggregate_version, destination, lane, occurred_at, traceparent
FROM outbox WHERE aggregate_id = %(order_id)s ORDER BY id
"""

_INBOX: LiteralString = """
SELECT consumer, event_id, topic, partition, "offset", member, generation, applied_at
FROM inbox WHERE aggregate_id = %(order_id)s ORDER BY applied_at
"""

_BILLING: LiteralString = """
SELECT applied_at AS at, number, currency, amount_minor, 'invoice' AS kind FROM invoice
WHERE order_id = %(order_id)s::uuid
UNION ALL
SELECT issued_at, number, currency, amount_minor, 'credit note' FROM credit_note
WHERE order_id = %(order_id)s::uuid
"""

_EMAILS: LiteralString = """
SELECT coalesce(sent_at, first_tried_at) AS at, event_id, invoice_number, state, attempts
FROM sent_email WHERE order_id = %(order_id)s::uuid
"""


def knows(url: str, order_id: str) -> bool:
    """Tell whether a database of orders has this order; one that is not there has none."""
    try:
        with psycopg.connect(url, connect_timeout=5) as connection:
            found = connection.execute("SELECT FROM orders WHERE order_id::text = %s", [order_id]).fetchone()
    except psycopg.Error:
        return False
    return found is not None


def newest(url: str) -> str | None:
    """Return the order that was placed last, if this database has any."""
    try:
        with psycopg.connect(url, connect_timeout=5) as connection:
            found = connection.execute("SELECT order_id::text FROM orders ORDER BY placed_at DESC LIMIT 1").fetchone()
    except psycopg.Error:
        return None
    return None if found is None else str(found[0])


def outbox(url: str, order_id: str) -> list[OutboxRow]:
    with psycopg.connect(url) as connection, connection.cursor(row_factory=class_row(OutboxRow)) as cursor:
        return cursor.execute(_OUTBOX, {"order_id": order_id}).fetchall()


def inbox(url: str, order_id: str) -> list[InboxRow]:
    with psycopg.connect(url) as connection, connection.cursor(row_factory=class_row(InboxRow)) as cursor:
        return cursor.execute(_INBOX, {"order_id": order_id}).fetchall()


def documents(url: str, order_id: str) -> Iterator[Moment]:
    """Yield the invoices and credit notes. Two invoices for one order would be the fault that this project is about."""
    with psycopg.connect(url) as connection, connection.cursor(row_factory=dict_row) as cursor:
        for row in cursor.execute(_BILLING, {"order_id": order_id}):
            sentence = _("{kind} {number} over {amount} minor units of {currency}").format(
                kind=row["kind"], number=row["number"], amount=row["amount_minor"], currency=row["currency"]
            )
            yield Moment(row["at"], Where.BILLING, sentence)


def emails(url: str, order_id: str) -> Iterator[Moment]:
    with psycopg.connect(url) as connection, connection.cursor(row_factory=dict_row) as cursor:
        for row in cursor.execute(_EMAILS, {"order_id": order_id}):
            sentence = _("e-mail for {number}: {state}, attempt {attempts} (key {key})").format(
                number=row["invoice_number"], state=row["state"], attempts=row["attempts"], key=row["event_id"]
            )
            yield Moment(row["at"], Where.NOTIFICATIONS, sentence)
