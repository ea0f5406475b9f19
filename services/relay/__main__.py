"""Run a relay: ``python -m services.relay``, or ``... worker``, which Celery's Beat wakes.

With a verb of ``operate.py`` it does what an operator asks, and ends.
"""

import os
import sys

from services.relay import operate, wiring
from services.relay.settings import Settings
from shared import lifecycle, logs, metrics, tracing
from shared.settings import read


def poll(settings: Settings) -> None:
    wiring.build(settings).run(lifecycle.stop_on_signals())


def work(settings: Settings) -> None:
    from services.relay import worker  # whoever polls needs no Celery worker

    sys.exit(worker.build(settings).run())


ROLES = {"": poll, "worker": work}


def main() -> None:
    if sys.argv[1:] and sys.argv[1] not in ROLES:
        operate.main(sys.argv[1:], os.environ)
        return
    role = ROLES["".join(sys.argv[1:2])]
    settings = read(Settings, os.environ)
    logs.configure(settings.instance, settings.log_level)
    tracing.configure(settings.instance)
    metrics.serve(settings.metrics_host, settings.metrics_port)
    role(settings)


if __name__ == "__main__":
    sys.exit(lifecycle.run_main(main))
