"""``python -m services.orders api|consumer``: take orders over HTTP, or settle them by billing's events."""

import os
import sys
from functools import partial

from services.orders.settings import ApiSettings, ConsumerSettings
from services.orders.wiring import build_api, build_consumer
from shared import http, logs, metrics
from shared.lifecycle import run_main, stop_on_signals
from shared.settings import read


def api() -> None:
    settings = read(ApiSettings, os.environ)
    logs.configure(settings.instance, settings.log_level)
    http.serve(partial(build_api, settings), settings.http_host, settings.http_port, settings.http_workers)


def consumer() -> None:
    settings = read(ConsumerSettings, os.environ)
    logs.configure(settings.instance, settings.log_level)
    stop = stop_on_signals()
    metrics.serve(settings.metrics_host, settings.metrics_port)
    build_consumer(settings).run(stop)


ROLES = {"api": api, "consumer": consumer}


def main() -> None:
    role = ROLES.get(sys.argv[1]) if len(sys.argv) == 2 else None
    if role is None:
        sys.exit(f"Usage: python -m services.orders {'|'.join(ROLES)}")
    role()


if __name__ == "__main__":
    sys.exit(run_main(main))
