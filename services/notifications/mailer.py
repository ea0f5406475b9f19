"""Hand a message to a mail server, and say in our own errors what came of it."""

import smtplib
from email.message import EmailMessage

from services.notifications.errors import MailNotAccepted, MailRefused

PERMANENT_CODES = range(500, 600)
"""RFC 5321, 4.2.1: the server will give the same answer to the same message."""


class Mailer:
    """Delivers by SMTP, one connection a message: workers are few and messages are rare."""

    def __init__(self, host: str, port: int, timeout_seconds: float) -> None:
        self._host = host
        self._port = port
        self._timeout_seconds = timeout_seconds

    def send(self, message: EmailMessage, recipient: str) -> None:
        """Return when the server has accepted the message.

        Raises MailNotAccepted when it is away or says "later" (it may have the message all the same: the answer can be
        lost), MailRefused when it says "never".
        """
        try:
            with smtplib.SMTP(self._host, self._port, timeout=self._timeout_seconds) as connection:
                connection.send_message(message, message["From"], [recipient])
        except smtplib.SMTPRecipientsRefused as error:
            code, answer = error.recipients[recipient]
            raise _judged(code, answer, recipient) from error
        except smtplib.SMTPResponseException as error:
            raise _judged(error.smtp_code, error.smtp_error, recipient) from error
        except smtplib.SMTPNotSupportedError as error:
            raise MailRefused(f"the mail server cannot take such a message: {error}") from error
        except (smtplib.SMTPException, OSError) as error:
            raise MailNotAccepted(f"the mail server did not answer as it should: {error}") from error


def _judged(code: int, answer: bytes | str, recipient: str) -> MailNotAccepted | MailRefused:
    text = answer.decode(errors="replace") if isinstance(answer, bytes) else answer
    # Servers like to repeat the address, and this text goes into the log.
    text = text.replace(recipient, "(recipient)")
    if code in PERMANENT_CODES:
        return MailRefused(f"the mail server refused the message: {code} {text}")
    return MailNotAccepted(f"the mail server asked to try again later: {code} {text}")
