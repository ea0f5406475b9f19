"""``python -m services.analytics consumer|api|housekeeper|rebuild``: a member, the API, the chores, a new version.

``openapi`` prints the API's description and needs no settings.
"""

import json
import os
import sys

from services.analytics.settings import Settings
from shared import logs, metrics, tracing
from shared.lifecycle import run_main, stop_at_end_of_input, stop_on_signals
from shared.settings import read

# Each role imports what it runs and no more: a housekeeper needs neither Kafka's client nor a web server.


def consume(settings: Settings) -> None:
    from services.analytics import wiring

    tracing.configure(settings.instance)
    metrics.serve(settings.metrics_host, settings.metrics_port)
    stop = stop_on_signals()
    if settings.rebuild_schema:
        stop_at_end_of_input(stop)
    wiring.build(settings).run(stop)


def serve(settings: Settings) -> None:
    from services.analytics import wiring

    wiring.serve_api(settings)


def keep_house(settings: Settings) -> None:
    from services.analytics import housekeeping

    tracing.configure(settings.instance)
    metrics.serve(settings.metrics_host, settings.metrics_port)
    sys.exit(housekeeping.build(settings).run())


def purge(settings: Settings) -> None:
    """Delete what is too old, now, and print as JSON what was done."""
    from services.analytics import housekeeping

    json.dump(housekeeping.purge(settings)(), sys.stdout)


ROLES = {"consumer": consume, "api": serve, "housekeeper": keep_house, "retention": purge}


def main() -> None:
    if sys.argv[1:2] == ["rebuild"]:
        from services.analytics import operate

        operate.main(sys.argv[2:], os.environ)
        return
    if sys.argv[1:] == ["openapi"]:
        from services.analytics import openapi

        json.dump(openapi.document(), sys.stdout)
        return
    role = ROLES.get(sys.argv[1] if len(sys.argv) > 1 else "")
    if role is None:
        sys.exit(f"Analytics does not know what to be. Say one of: {', '.join(ROLES)}, rebuild, openapi.")
    settings = read(Settings, os.environ)
    logs.configure(settings.instance, settings.log_level)
    role(settings)


if __name__ == "__main__":
    sys.exit(run_main(main))
