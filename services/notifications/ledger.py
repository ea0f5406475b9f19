"""The ledger of e-mails: which have been sent, and which a worker has in hand.

It narrows the window in which a mail can leave twice; it cannot close it. A worker that dies between the mail server's
answer and ``record_sent`` leaves a mail that was sent and looks unsent, and the next worker sends it again, with the
same Message-ID and the same bytes. No order of the two steps avoids both a double and a loss, since the mail server
does not take part in our transactions.

The lease keeps two deliveries of one command, running at the same time, from sending twice; times are the database's.
"""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from sqlalchemy import Connection

from shared.events import SendInvoice


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to send a mail. The number of the attempt tells it from an earlier one whose lease has run out."""

    event_id: UUID
    attempt: int


# The key decides, in one statement: the first claim inserts, a later one takes over only what is neither sent nor in
# hand. Of two at once the second waits for the first's commit and then sees its lease.
_CLAIM: Final = """
INSERT INTO sent_email AS known (event_id, order_id, invoice_number, recipient, state, attempts, first_tried_at,
                                 lease_until)
VALUES (%(event_id)s, %(order_id)s, %(invoice_number)s, %(recipient)s, 'sending', 1, clock_timestamp(),
        clock_timestamp() + make_interval(secs => %(lease_seconds)s))
ON CONFLICT (event_id) DO UPDATE SET attempts = known.attempts + 1, lease_until = excluded.lease_until
  WHERE known.state = 'sending' AND known.lease_until <= clock_timestamp()
RETURNING attempts
"""


def claim(connection: Connection, event_id: UUID, command: SendInvoice, lease_seconds: float) -> Claim | None:
    """Claim a mail; None when it is sent, refused or in another worker's hand. Never commits."""
    row = connection.exec_driver_sql(
        _CLAIM,
        {
            "event_id": event_id,
            "order_id": command.order_id,
            "invoice_number": command.invoice_number,
            "recipient": command.email,
            "lease_seconds": lease_seconds,
        },
    ).one_or_none()
    return Claim(event_id, row.attempts) if row else None


def state_of(connection: Connection, event_id: UUID) -> str:
    statement = "SELECT state FROM sent_email WHERE event_id = %(event_id)s"
    return str(connection.exec_driver_sql(statement, {"event_id": event_id}).scalar_one())


# Whoever's claim it was: the mail server has it.
_RECORD_SENT: Final = """
UPDATE sent_email SET state = 'sent', sent_at = clock_timestamp(), last_error = NULL WHERE event_id = %(event_id)s
"""


def record_sent(connection: Connection, claim: Claim) -> None:
    connection.exec_driver_sql(_RECORD_SENT, {"event_id": claim.event_id})


_RECORD_FAILURE: Final = """
UPDATE sent_email SET state = %(state)s, lease_until = clock_timestamp(), last_error = %(error)s
WHERE event_id = %(event_id)s AND attempts = %(attempt)s AND state = 'sending'
"""


def give_back(connection: Connection, claim: Claim, error: str) -> None:
    """End a claim whose mail did not leave, so that the next attempt need not wait for the lease."""
    _record_failure(connection, claim, "sending", error)


def record_refused(connection: Connection, claim: Claim, error: str) -> None:
    """Remember that the mail server will never take this mail."""
    _record_failure(connection, claim, "refused", error)


def _record_failure(connection: Connection, claim: Claim, state: str, error: str) -> None:
    parameters = {"state": state, "error": error, "event_id": claim.event_id, "attempt": claim.attempt}
    connection.exec_driver_sql(_RECORD_FAILURE, parameters)
