"""``python -m services.billing ROLE``: a member of the group, the API, the housekeeper, or a printer of the states."""

import json
import os
import sys
from dataclasses import asdict

from services.billing.settings import Settings
from shared import logs, metrics, tracing
from shared.lifecycle import run_main, stop_on_signals
from shared.settings import read

# Each role imports what it runs and no more: a housekeeper needs neither Kafka's client nor a web server.


def consume() -> None:
    from services.billing import wiring

    settings = _settings()
    tracing.configure(settings.instance)
    metrics.serve(settings.metrics_host, settings.metrics_port)
    wiring.build(settings).run(stop_on_signals())


def serve() -> None:
    from services.billing import wiring

    wiring.serve_api(_settings())


def keep_house() -> None:
    from services.billing import housekeeping

    settings = _settings()
    tracing.configure(settings.instance)
    metrics.serve(settings.metrics_host, settings.metrics_port)
    sys.exit(housekeeping.build(settings).run())


def purge() -> None:
    """Delete what is too old, now, and print as JSON what was done."""
    from services.billing import housekeeping

    json.dump(housekeeping.purge(_settings())(), sys.stdout)


def states() -> None:
    """Print the states of a bill as data. Needs no settings."""
    from services.billing.bill_states import BILL

    json.dump(asdict(BILL), sys.stdout)


ROLES = {"consumer": consume, "api": serve, "housekeeper": keep_house, "retention": purge, "states": states}


def _settings() -> Settings:
    settings = read(Settings, os.environ)
    logs.configure(settings.instance, settings.log_level)
    return settings


def main() -> None:
    role = ROLES.get(sys.argv[1] if len(sys.argv) > 1 else "")
    if role is None:
        sys.exit(f"Billing does not know what to be. Say one of: {', '.join(ROLES)}.")
    role()


if __name__ == "__main__":
    sys.exit(run_main(main))
