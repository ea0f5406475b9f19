"""``python -m services.analytics consumer|api``: a member of the consumer group, or the read-only API."""

import os
import sys

from services.analytics import wiring
from services.analytics.settings import Settings
from shared import logs, metrics
from shared.lifecycle import run_main, stop_on_signals
from shared.settings import read


def consume(settings: Settings) -> None:
    metrics.serve(settings.metrics_host, settings.metrics_port)
    wiring.build(settings).run(stop_on_signals())


ROLES = {"consumer": consume, "api": wiring.serve_api}


def main() -> None:
    role = ROLES.get(sys.argv[1] if len(sys.argv) > 1 else "")
    if role is None:
        sys.exit(f"Analytics does not know what to be. Say one of: {', '.join(ROLES)}.")
    settings = read(Settings, os.environ)
    logs.configure(settings.instance, settings.log_level)
    role(settings)


if __name__ == "__main__":
    sys.exit(run_main(main))
