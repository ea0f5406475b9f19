"""Command again the mails of invoices that nobody has reported as sent.

A command can be lost on its way: the outbox row deleted by hand, the queue's Redis restarted empty, a worker killed
between the queue's two steps of handing over. Billing sees that as an invoice whose mail is never settled. It commands
the same mail again, with the same event id, and the ledger of mails decides: what was sent is only reported again.

Invariant: an invoice's mail is commanded until it is settled or its reminders are spent; never under another event id.
Not promised: once. A mail server can take a mail and lose its answer; then the mail goes out again, with the same
Message-ID.
"""

from collections.abc import Callable

from prometheus_client import Counter, Gauge
from sqlalchemy import Engine

from services.billing import mails
from services.billing.mails import Patience, Reminder
from shared.database import transaction
from shared.logs import get_logger

REMINDED = Counter("billing_mails_commanded_again_total", "Mails that were silent for too long")
OVERDUE = Gauge("billing_mails_overdue", "Invoices whose mail is silent for longer than it may be")
GIVEN_UP = Gauge("billing_mails_given_up", "Of these, the ones that are not commanded again")

log = get_logger(__name__)


class MailReminder:
    """Looks for silent mails. ``waiting_in_queue`` counts the commands that the queue holds already."""

    def __init__(
        self,
        engine: Engine,
        patience: Patience,
        *,
        waiting_in_queue: Callable[[], int],
        send: Callable[[Reminder], None],
        limit: int = 200,
    ) -> None:
        self._engine = engine
        self._patience = patience
        self._waiting_in_queue = waiting_in_queue
        self._send = send
        self._limit = limit

    def run(self) -> dict[str, object]:
        """Command one batch of silent mails again. Raises when database or queue are away; the next run goes on."""
        # Asked first: with the queue away this raises, and no reminder is spent.
        if self._waiting_in_queue() >= self._limit:
            return {"skipped": "the queue still holds many commands, and the silent ones may be among them"}
        with transaction(self._engine) as connection:
            overdue = mails.take_overdue(connection, self._patience, self._limit)
            still = mails.waiting(connection, self._patience)
        OVERDUE.set(still.overdue + len(overdue))
        GIVEN_UP.set(still.given_up)
        if still.given_up:
            log.error(
                "mails given up", invoices=still.given_up, cure="see why none is settled, then reset mail_reminders"
            )
        for reminder in overdue:
            self._send(reminder)
            REMINDED.inc()
        return {"commanded_again": len(overdue)} if overdue else {}

    def settled(self, sent: list[str], refused: list[str]) -> None:
        """Take a note of the mails that were settled."""
        with transaction(self._engine) as connection:
            mails.settle(connection, "sent", sent)
            mails.settle(connection, "refused", refused)
