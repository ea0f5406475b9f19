"""Run a relay: ``python -m services.relay``."""

import os
import sys

from services.relay import wiring
from services.relay.settings import Settings
from shared import lifecycle, logs, metrics
from shared.settings import read


def main() -> None:
    settings = read(Settings, os.environ)
    logs.configure(settings.instance, settings.log_level)
    metrics.serve(settings.metrics_host, settings.metrics_port)
    wiring.build(settings).run(lifecycle.stop_on_signals())


if __name__ == "__main__":
    sys.exit(lifecycle.run_main(main))
