"""Listen for SMTP until told to stop. Loopback unless the settings say otherwise; no authentication, no TLS."""

import asyncio
import signal
from functools import partial
from pathlib import Path
from typing import Final

from aiosmtpd.smtp import SMTP

from services.notifications.mail_sink.journal import Journal
from services.notifications.mail_sink.settings import Settings
from services.notifications.mail_sink.sink import Sink
from shared.logs import get_logger

IDLE_SECONDS: Final = 30.0

log = get_logger(__name__)


async def serve(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    journal = Journal(Path(settings.mail_journal))
    connection = partial(
        SMTP,
        Sink(journal),
        data_size_limit=settings.largest_mail_bytes,
        enable_SMTPUTF8=True,
        hostname="mail-sink.effectively-once.invalid",
        ident="effectively-once mail sink",
        timeout=IDLE_SECONDS,
    )
    server = await loop.create_server(connection, settings.smtp_host, settings.smtp_port)
    log.info("listening", host=settings.smtp_host, port=settings.smtp_port)
    await stop.wait()
    server.close()
    journal.close()
