"""Run a relay: ``python -m services.relay``, or ``... worker``, which Celery's Beat wakes."""

import os
import sys

from services.relay import wiring
from services.relay.settings import Settings
from shared import lifecycle, logs, metrics
from shared.settings import read


def poll(settings: Settings) -> None:
    wiring.build(settings).run(lifecycle.stop_on_signals())


def work(settings: Settings) -> None:
    from services.relay import worker  # whoever polls needs no Celery worker

    sys.exit(worker.build(settings).run())


ROLES = {"": poll, "worker": work}


def main() -> None:
    role = ROLES.get(sys.argv[1] if len(sys.argv) > 1 else "")
    if role is None:
        sys.exit("The relay does not know what to be. Say nothing, and it polls, or `worker`.")
    settings = read(Settings, os.environ)
    logs.configure(settings.instance, settings.log_level)
    metrics.serve(settings.metrics_host, settings.metrics_port)
    role(settings)


if __name__ == "__main__":
    sys.exit(lifecycle.run_main(main))
