"""Run a service's own program once, as some role in a database, and read its answer.

What an operator may do with a service's tables stands in that service. Here nothing knows a table, and the same works
on both stacks.
"""

import json
import subprocess
import sys
from gettext import gettext as _
from typing import Any

from infra.local.deployment import Deployment
from infra.local.errors import StackError


def ask(deployment: Deployment, module: str, kind: str, role: str, *arguments: str) -> Any:
    """Run ``python -m MODULE ARGUMENTS`` as a role in a database. Raises StackError with the program's own words."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        env=deployment.environment_of(kind, role),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or [_("{module} ended without a word.").format(module=module)]
        raise StackError(said[-1].removeprefix("RefusedError: ").removeprefix("ConfigurationError: "))
    return json.loads(done.stdout)
