"""Listen for SMTP until told to stop. Loopback unless the settings say otherwise; no authentication, no TLS."""

import asyncio
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from aiosmtpd.smtp import SMTP

from services.notifications.mail_sink.journal import Journal
from services.notifications.mail_sink.settings import Settings
from services.notifications.mail_sink.sink import Sink
from shared.errors import ConfigurationError
from shared.logs import get_logger

IDLE_SECONDS: Final = 30.0

log = get_logger(__name__)


async def serve(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT. Raises ConfigurationError when the address cannot be listened on."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    journal = Journal(Path(settings.mail_journal))
    connection = partial(
        SMTP,
        Sink(journal, settings.lose_answer_every),
        data_size_limit=settings.largest_mail_bytes,
        enable_SMTPUTF8=True,
        hostname="mail-sink.effectively-once.invalid",
        ident="effectively-once mail sink",
        timeout=IDLE_SECONDS,
    )
    server = await _listen(connection, settings)
    log.info("listening", host=settings.smtp_host, port=settings.smtp_port)
    await stop.wait()
    server.close()
    journal.close()


async def _listen(connection: Callable[[], asyncio.Protocol], settings: Settings) -> asyncio.Server:
    try:
        return await asyncio.get_running_loop().create_server(connection, settings.smtp_host, settings.smtp_port)
    except OSError as error:
        raise ConfigurationError(
            f"The mail sink cannot listen on {settings.smtp_host}:{settings.smtp_port}: {error.strerror}. "
            "Stop what holds the port, or set SMTP_PORT to a free one."
        ) from error
