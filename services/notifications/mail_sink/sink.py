"""What the sink does with an e-mail: write it down, then accept it.

Asked to, it loses every so-many-th answer: the e-mail is written down, and its sender is left without a word.
"""

import asyncio
import hashlib
from email.parser import BytesHeaderParser
from email.policy import SMTP
from typing import Final

from aiosmtpd.smtp import SMTP as Connection
from aiosmtpd.smtp import Envelope, Session
from prometheus_client import Counter

from services.notifications.mail_sink.journal import Journal
from shared.clock import utc_now
from shared.logs import get_logger

MOST_RECIPIENTS: Final = 10

ACCEPTED = Counter("mail_sink_accepted_total", "E-mails written to the journal and accepted")

log = get_logger(__name__)


class Sink:
    """Handler of aiosmtpd: the methods are named by its hooks, their results are SMTP answers."""

    def __init__(self, journal: Journal, lose_answer_every: int = 0) -> None:
        self._journal = journal
        self._lose_answer_every = lose_answer_every
        self._taken = 0

    async def handle_RCPT(
        self, _server: Connection, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        if len(envelope.rcpt_tos) >= MOST_RECIPIENTS:
            return "452 Too many recipients"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Connection, _session: Session, envelope: Envelope) -> str:
        content = envelope.original_content or b""
        answered = not self._loses_the_next_answer()
        try:
            for recipient in envelope.rcpt_tos:
                self._journal.append(_entry(content, recipient, answered))
        except OSError as error:
            log.error("journal not written", detail=str(error))
            return "451 The journal cannot be written, try again later"
        # Durable before the answer: a sender that hears 250 never sends this mail again.
        ACCEPTED.inc()
        if not answered:
            assert isinstance(server.transport, asyncio.WriteTransport)
            server.transport.abort()
        return "250 Written down"

    def _loses_the_next_answer(self) -> bool:
        self._taken += 1
        return bool(self._lose_answer_every) and self._taken % self._lose_answer_every == 0


def _entry(content: bytes, recipient: str, answered: bool) -> dict[str, object]:
    headers = BytesHeaderParser(policy=SMTP).parsebytes(content)
    return {
        "at": utc_now().isoformat(),
        "message_id": _text(headers["Message-ID"]),
        "recipient": recipient,
        "order_id": _text(headers["X-Order-Id"]),
        "invoice_number": _text(headers["X-Invoice-Number"]),
        "sha256": hashlib.sha256(content).hexdigest(),
        "answered": answered,
    }


def _text(header: object) -> str | None:
    return None if header is None else str(header)
