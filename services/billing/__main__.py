"""``python -m services.billing consumer|api|housekeeper``: a member of the group, the read-only API, or the chores."""

import os
import sys

from services.billing.settings import Settings
from shared import logs, metrics, tracing
from shared.lifecycle import run_main, stop_on_signals
from shared.settings import read

# Each role imports what it runs and no more: a housekeeper needs neither Kafka's client nor a web server.


def consume(settings: Settings) -> None:
    from services.billing import wiring

    tracing.configure(settings.instance)
    metrics.serve(settings.metrics_host, settings.metrics_port)
    wiring.build(settings).run(stop_on_signals())


def serve(settings: Settings) -> None:
    from services.billing import wiring

    wiring.serve_api(settings)


def keep_house(settings: Settings) -> None:
    from services.billing import housekeeping

    tracing.configure(settings.instance)
    metrics.serve(settings.metrics_host, settings.metrics_port)
    sys.exit(housekeeping.build(settings).run())


ROLES = {"consumer": consume, "api": serve, "housekeeper": keep_house}


def main() -> None:
    role = ROLES.get(sys.argv[1] if len(sys.argv) > 1 else "")
    if role is None:
        sys.exit(f"Billing does not know what to be. Say one of: {', '.join(ROLES)}.")
    settings = read(Settings, os.environ)
    logs.configure(settings.instance, settings.log_level)
    role(settings)


if __name__ == "__main__":
    sys.exit(run_main(main))
