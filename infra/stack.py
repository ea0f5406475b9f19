"""Which stack a command works on: the local one, or the one of containers.

``STACK=containers`` is set inside the container of the service ``once``, and nowhere else. Everywhere else a stack is
local; `STACK=compose once demo` hands the whole command to that container (``infra/cli``).
"""

import os
from collections.abc import Mapping

from infra.local.stack import LocalStack


def open_stack(environ: Mapping[str, str] | None = None) -> LocalStack:
    """Open the stack that the environment names; starts nothing."""
    environ = os.environ if environ is None else environ
    if environ.get("STACK") == "containers":
        from infra.compose.stack import ComposeStack

        return ComposeStack.open(environ)
    return LocalStack.open(environ)
