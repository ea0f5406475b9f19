"""What our packages say of themselves. They are asked in a process of its own: nothing out here knows a service's
insides."""

import json
import subprocess
import sys
from functools import cache
from typing import Any, Final

from infra.local.home import PROJECT

PACKAGES: Final = ("services", "shared", "infra.kafka.topics", "infra.docker.load")


@cache
def described() -> Any:
    """Return the settings and metrics of all packages, with the first line of each module's docstring."""
    printed = subprocess.run(
        [sys.executable, "-m", "shared.described", *PACKAGES], check=True, capture_output=True, cwd=PROJECT
    )
    return json.loads(printed.stdout)
