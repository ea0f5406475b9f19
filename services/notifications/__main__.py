"""``python -m services.notifications worker``: send the e-mails that the queue holds."""

import os
import sys

from services.notifications import wiring
from services.notifications.settings import Settings
from shared import logs, metrics, tracing
from shared.lifecycle import run_main
from shared.settings import read


def work(settings: Settings) -> None:
    metrics.serve(settings.metrics_host, settings.metrics_port)
    sys.exit(wiring.build(settings).run())


ROLES = {"worker": work}


def main() -> None:
    role = ROLES.get(sys.argv[1] if len(sys.argv) > 1 else "")
    if role is None:
        sys.exit(f"Notifications does not know what to be. Say one of: {', '.join(ROLES)}.")
    settings = read(Settings, os.environ)
    logs.configure(settings.instance, settings.log_level)
    tracing.configure(settings.instance)
    role(settings)


if __name__ == "__main__":
    sys.exit(run_main(main))
