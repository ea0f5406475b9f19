"""Send one invoice by e-mail: claim it in the ledger, hand it to the mail server, record that it left.

An e-mail is an effect outside of every database, so "once" cannot be promised, only "at least once, with a key": the
event's id is the ledger's key and the Message-ID. What is recorded as sent is never sent again, however often the queue
delivers the command; what is not recorded is sent until it is.
"""

from collections.abc import Callable
from uuid import UUID

from prometheus_client import Counter
from sqlalchemy import Engine

from services.notifications import ledger
from services.notifications.errors import MailInHand, MailRefused
from services.notifications.ledger import Claim
from services.notifications.letter import compose
from services.notifications.mailer import Mailer
from shared.database import transaction
from shared.errors import TransientError
from shared.events import SendInvoice
from shared.failpoints import Failpoint, reach
from shared.logs import get_logger
from shared.tracing import trace_id

MAILS = Counter("notifications_mails_total", "Commands to send a mail, by what became of them", ["outcome"])

log = get_logger(__name__)

Settled = Callable[[UUID, str], None]
"""Told of every mail that is ``sent`` or ``refused``, also when the ledger has known it before."""


def tell_nobody(_event_id: UUID, _outcome: str) -> None: ...


class InvoiceSender:
    """Sends invoices through one mail server. Safe to call again with the same command, also at the same time."""

    def __init__(
        self, engine: Engine, mailer: Mailer, sender: str, lease_seconds: float, settled: Settled = tell_nobody
    ) -> None:
        self._engine = engine
        self._mailer = mailer
        self._sender = sender
        self._lease_seconds = lease_seconds
        self._settled = settled

    def send(self, event_id: UUID, command: SendInvoice) -> None:
        """Send the mail unless the ledger knows that it is sent.

        Raises TransientError when the same call may succeed later, PermanentError when it never will.
        """
        claim = self._claim(event_id, command)
        if claim is None:
            return
        try:
            self._mailer.send(compose(event_id, command, self._sender, trace_id()), command.email)
        except TransientError as error:
            self._fail(claim, error, ledger.give_back, "not accepted")
            raise
        except MailRefused as error:
            self._fail(claim, error, ledger.record_refused, "refused")
            self._settled(event_id, "refused")
            raise
        reach(Failpoint.EMAIL_AFTER_SEND_BEFORE_RECORD)
        with transaction(self._engine) as connection:
            ledger.record_sent(connection, claim)
        _tell(claim, "sent")
        self._settled(event_id, "sent")

    def _claim(self, event_id: UUID, command: SendInvoice) -> Claim | None:
        with transaction(self._engine) as connection:
            claim = ledger.claim(connection, event_id, command, self._lease_seconds)
            if claim is not None:
                return claim
            state = ledger.state_of(connection, event_id)
        if state == "sending":
            raise MailInHand(f"another worker is sending the mail {event_id}; it is looked at again later")
        self._settled(event_id, state)
        MAILS.labels("duplicate").inc()
        log.info("mail not sent again", event_id=str(event_id), state=state)
        return None

    def _fail(self, claim: Claim, error: Exception, record: Callable[..., None], outcome: str) -> None:
        with transaction(self._engine) as connection:
            record(connection, claim, str(error))
        _tell(claim, outcome, detail=str(error))


def _tell(claim: Claim, outcome: str, **particulars: str) -> None:
    MAILS.labels(outcome).inc()
    say = log.info if outcome == "sent" else log.warning
    say(f"mail {outcome}", event_id=str(claim.event_id), attempt=claim.attempt, **particulars)
