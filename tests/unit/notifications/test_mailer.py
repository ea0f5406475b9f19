"""What a mail server's answers become. The server here is a few lines of real SMTP."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage

import pytest
from aiosmtpd.smtp import SMTP, Envelope, Session

from services.notifications.errors import MailNotAccepted, MailRefused
from services.notifications.mailer import Mailer

RECIPIENT = "ada@example.org"


class Answering:
    """Says what it was told to say to a recipient and to a message."""

    def __init__(self, to_recipient: str, to_message: str) -> None:
        self._to_recipient = to_recipient
        self._to_message = to_message

    async def handle_RCPT(
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        envelope.rcpt_tos.append(address)
        return self._to_recipient

    async def handle_DATA(self, _server: SMTP, _session: Session, _envelope: Envelope) -> str:
        return self._to_message


@contextmanager
def server(to_recipient: str = "250 OK", to_message: str = "250 OK") -> Iterator[Mailer]:
    loop = asyncio.new_event_loop()
    started = loop.run_until_complete(
        loop.create_server(lambda: SMTP(Answering(to_recipient, to_message)), "127.0.0.1", 0)
    )
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield Mailer("127.0.0.1", started.sockets[0].getsockname()[1], 5.0)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        started.close()
        loop.close()


def message() -> EmailMessage:
    letter = EmailMessage()
    letter["From"], letter["To"] = "shop@example.org", RECIPIENT
    letter.set_content("hello")
    return letter


def test_an_accepted_message_is_no_error() -> None:
    with server() as mailer:
        mailer.send(message(), RECIPIENT)


@pytest.mark.parametrize("answers", [("450 busy", "250 OK"), ("250 OK", "451 disk full")])
def test_an_answer_of_the_400s_means_later(answers: tuple[str, str]) -> None:
    with server(*answers) as mailer, pytest.raises(MailNotAccepted, match="try again later: 45"):
        mailer.send(message(), RECIPIENT)


@pytest.mark.parametrize("answers", [("550 no such user", "250 OK"), ("250 OK", "554 no")])
def test_an_answer_of_the_500s_means_never(answers: tuple[str, str]) -> None:
    with server(*answers) as mailer, pytest.raises(MailRefused, match="refused the message: 55"):
        mailer.send(message(), RECIPIENT)


def test_nobody_there_means_later() -> None:
    with server() as mailer:
        pass
    with pytest.raises(MailNotAccepted):
        mailer.send(message(), RECIPIENT)


def test_an_error_does_not_tell_the_address() -> None:
    """It goes into the log, where no e-mail address belongs."""
    with server(f"550 <{RECIPIENT}> is unknown") as mailer, pytest.raises(MailRefused) as refused:
        mailer.send(message(), RECIPIENT)
    assert RECIPIENT not in str(refused.value)
