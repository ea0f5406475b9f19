"""The mail side of invoices: which mails are settled, and which have been silent for too long.

Times are the database's. Everything here may run twice or in two processes at once.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import msgspec
from sqlalchemy import Connection

from shared.events import OrderLine, SendInvoice


@dataclass(frozen=True, slots=True)
class Patience:
    """How long an invoice's mail may be silent. Each reminder doubles the wait for the next, up to the ceiling."""

    overdue_seconds: float
    ceiling_seconds: float
    reminders: int


@dataclass(frozen=True, slots=True)
class Reminder:
    """A command as it was, down to its event id: the ledger of mails tells it from a second mail."""

    event_id: UUID
    command: SendInvoice
    traceparent: str | None = None
    """Of the request that placed the order, for as long as the outbox keeps the invoice's event."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many invoices have an unsettled mail that is overdue, and how many of them will not be reminded of again."""

    overdue: int
    given_up: int


_SETTLE: Final = """
UPDATE invoice SET mail_outcome = %(outcome)s, mail_settled_at = clock_timestamp()
WHERE mail_event_id = ANY(%(event_ids)s::uuid[]) AND mail_outcome IS DISTINCT FROM 'sent'
"""


def settle(connection: Connection, outcome: str, event_ids: Iterable[str]) -> int:
    """Record that mails were sent or refused for good; what was sent stays sent. Returns how many were open."""
    parameters = {"outcome": outcome, "event_ids": list(event_ids)}
    return int(connection.exec_driver_sql(_SETTLE, parameters).rowcount)


# Taken and counted in one statement: of two housekeepers at once each gets others. The index has open mails only.
_TAKE_OVERDUE: Final = """
WITH overdue AS (
  SELECT number FROM invoice
  WHERE mail_outcome IS NULL AND mail_event_id IS NOT NULL AND mail_reminders < %(reminders)s
    AND mail_commanded_at <= clock_timestamp() - make_interval(secs => %(overdue_seconds)s)
    AND mail_commanded_at <= clock_timestamp() - make_interval(
          secs => least(%(overdue_seconds)s * 2 ^ mail_reminders, greatest(%(ceiling_seconds)s, %(overdue_seconds)s)))
  ORDER BY mail_commanded_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED)
UPDATE invoice SET mail_reminders = mail_reminders + 1, mail_commanded_at = clock_timestamp()
FROM overdue, bill WHERE invoice.number = overdue.number AND bill.order_id = invoice.order_id
RETURNING invoice.*, bill.email,
  (SELECT traceparent FROM outbox WHERE aggregate_type = 'bill' AND aggregate_id = invoice.order_id::text
     AND aggregate_version = 1)
"""


def take_overdue(connection: Connection, patience: Patience, limit: int) -> list[Reminder]:
    """Return mails that have been silent for too long and count them as reminded of; never commits."""
    rows = connection.exec_driver_sql(
        _TAKE_OVERDUE,
        {
            "overdue_seconds": patience.overdue_seconds,
            "ceiling_seconds": patience.ceiling_seconds,
            "reminders": patience.reminders,
            "limit": limit,
        },
    )
    return [Reminder(row.mail_event_id, _command(row), row.traceparent) for row in rows]


def _command(row: Any) -> SendInvoice:
    return SendInvoice(
        order_id=str(row.order_id),
        invoice_number=row.number,
        email=row.email,
        currency=row.currency,
        amount_minor=row.amount_minor,
        lines=msgspec.convert(row.lines, tuple[OrderLine, ...]),
        issued_at=row.issued_at.isoformat(),
    )


_WAITING: Final = """
SELECT count(*) AS overdue, count(*) FILTER (WHERE mail_reminders >= %(reminders)s) AS given_up FROM invoice
WHERE mail_outcome IS NULL AND mail_event_id IS NOT NULL
  AND mail_commanded_at <= clock_timestamp() - make_interval(secs => %(overdue_seconds)s)
"""


def waiting(connection: Connection, patience: Patience) -> Waiting:
    parameters = {"reminders": patience.reminders, "overdue_seconds": patience.overdue_seconds}
    row = connection.exec_driver_sql(_WAITING, parameters).one()
    return Waiting(row.overdue, row.given_up)
