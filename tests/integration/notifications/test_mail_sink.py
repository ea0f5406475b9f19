"""The mail sink as a process, spoken to by SMTP."""

import signal
import smtplib
from email.message import EmailMessage
from pathlib import Path

import pytest

from tests.integration.notifications.processes import Sink, free_port


def mail(message_id: str, size: int = 10) -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"] = "shop@example.org", "ada@example.org"
    message["Message-ID"] = message_id
    message["X-Order-Id"] = "order-1"
    message["X-Invoice-Number"] = "INV-2026-000001"
    message.set_content("x" * size)
    return message


def send(sink: Sink, message: EmailMessage) -> None:
    with smtplib.SMTP("127.0.0.1", sink.port, timeout=10) as connection:
        connection.send_message(message)


def test_what_was_accepted_is_in_the_journal_even_when_the_sink_is_killed(sink: Sink) -> None:
    """It writes first and answers then; after a restart it goes on in the same journal."""
    with smtplib.SMTP("127.0.0.1", sink.port, timeout=10) as connection:
        connection.send_message(mail("<1@example.org>"))
        sink.end(signal.SIGKILL)
        connection.close()
    [entry] = sink.mails()
    assert (entry["message_id"], entry["recipient"]) == ("<1@example.org>", "ada@example.org")
    assert (entry["order_id"], entry["invoice_number"], entry["answered"]) == ("order-1", "INV-2026-000001", True)
    sink.start()
    send(sink, mail("<2@example.org>"))
    assert [entry["message_id"] for entry in sink.mails()] == ["<1@example.org>", "<2@example.org>"]


def test_a_message_over_the_limit_is_refused_for_good(sink: Sink) -> None:
    """With a permanent code, so that nobody tries for ever; nothing is written."""
    with pytest.raises(smtplib.SMTPResponseException) as refused:
        send(sink, mail("<1@example.org>", size=30_000))
    assert refused.value.smtp_code == 552
    assert sink.mails() == []


def test_a_mail_without_headers_is_journalled_as_it_is(sink: Sink) -> None:
    """The journal says what came, also when it makes no sense."""
    with smtplib.SMTP("127.0.0.1", sink.port, timeout=10) as connection:
        connection.sendmail("shop@example.org", ["ada@example.org"], b"\x00\xff not a mail")
    [entry] = sink.mails()
    assert (entry["message_id"], entry["order_id"]) == (None, None)


def test_a_full_disk_is_a_reason_to_try_again_later(tmp_path: Path) -> None:
    """What cannot be written down is not accepted."""
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    port = free_port()
    environment = {"SMTP_PORT": str(port), "MAIL_JOURNAL": str(full)}
    sink = Sink(("services.notifications.mail_sink",), environment, tmp_path / "sink.log", port, full)
    sink.start()
    try:
        with pytest.raises(smtplib.SMTPResponseException) as refused:
            send(sink, mail("<1@example.org>"))
        assert refused.value.smtp_code == 451
    finally:
        assert sink.end() == 0


def test_it_ends_well_when_asked(sink: Sink) -> None:
    assert sink.end() == 0
