"""``python -m services.orders ROLE``: take orders, settle them by billing's events, keep house, describe the API."""

import json
import os
import sys
from dataclasses import asdict
from functools import partial

from services.orders.settings import ApiSettings, ConsumerSettings, HousekeeperSettings
from shared import logs, metrics, tracing
from shared.lifecycle import run_main, stop_on_signals
from shared.settings import read

# Each role imports what it runs and no more: a housekeeper needs neither Kafka's client nor a web server.


def api() -> None:
    from services.orders.wiring import build_api
    from shared import http

    settings = read(ApiSettings, os.environ)
    logs.configure(settings.instance, settings.log_level)
    http.serve(partial(build_api, settings), settings.http_host, settings.http_port, settings.http_workers)


def consumer() -> None:
    from services.orders.wiring import build_consumer

    settings = read(ConsumerSettings, os.environ)
    logs.configure(settings.instance, settings.log_level)
    tracing.configure(settings.instance)
    stop = stop_on_signals()
    metrics.serve(settings.metrics_host, settings.metrics_port)
    build_consumer(settings).run(stop)


def housekeeper() -> None:
    from services.orders import housekeeping

    settings = read(HousekeeperSettings, os.environ)
    logs.configure(settings.instance, settings.log_level)
    tracing.configure(settings.instance)
    metrics.serve(settings.metrics_host, settings.metrics_port)
    sys.exit(housekeeping.build(settings).run())


def retention() -> None:
    """Delete what is too old, now, and print as JSON what was done."""
    from services.orders import housekeeping

    json.dump(housekeeping.purge(read(HousekeeperSettings, os.environ))(), sys.stdout)


def openapi() -> None:
    """Print the API's description. Needs no settings."""
    from services.orders import openapi as described

    json.dump(described.document(), sys.stdout)


def states() -> None:
    """Print the states of an order as data. Needs no settings."""
    from services.orders.order_states import ORDER

    json.dump(asdict(ORDER), sys.stdout)


ROLES = {
    "api": api,
    "consumer": consumer,
    "housekeeper": housekeeper,
    "retention": retention,
    "openapi": openapi,
    "states": states,
}


def main() -> None:
    role = ROLES.get(sys.argv[1]) if len(sys.argv) == 2 else None
    if role is None:
        sys.exit(f"Usage: python -m services.orders {'|'.join(ROLES)}")
    role()


if __name__ == "__main__":
    sys.exit(run_main(main))
