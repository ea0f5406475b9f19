"""``python -m services.notifications.mail_sink``: run the mail sink."""

import asyncio
import os
import sys

from services.notifications.mail_sink.server import serve
from services.notifications.mail_sink.settings import Settings
from shared import logs, metrics
from shared.lifecycle import run_main
from shared.settings import read


def main() -> None:
    settings = read(Settings, os.environ)
    logs.configure(settings.instance, settings.log_level)
    metrics.serve(settings.metrics_host, settings.metrics_port)
    asyncio.run(serve(settings))


if __name__ == "__main__":
    sys.exit(run_main(main))
