"""The ``once`` command. Each verb is a file; a verb is imported only when it is used, so the command starts quickly.

To add a verb, write a click command and add a line to ``VERBS``. A command that returns a number ends with it as exit
code.
"""

import importlib
import os
import sys
from collections.abc import Mapping
from gettext import gettext as _

import click

from infra.cli.console import complain
from shared.errors import OnceError

VERBS: Mapping[str, str] = {
    "demo": "infra.cli.demo:demo",
    "up": "infra.cli.stack:up",
    "roll": "infra.cli.stack:roll",
    "down": "infra.cli.stack:down",
    "reset": "infra.cli.stack:reset",
    "status": "infra.cli.status:status",
    "doctor": "infra.cli.doctor:doctor",
    "env": "infra.cli.env:env",
    "order": "infra.cli.order:order",
    "trace": "infra.cli.trace:trace",
    "parked": "infra.cli.parked:parked",
    "relay": "infra.cli.relay:relay",
    "replay": "infra.cli.replay:replay",
    "retention": "infra.cli.retention:retention",
    "chaos": "infra.cli.chaos:chaos",
    "load": "infra.cli.load:load",
    "bench": "infra.cli.bench:bench",
    "engine": "infra.cli.engine:engine",
    "standby": "infra.cli.standby:standby",
}
"""Verb → module:command, in the order of ``once --help``."""

STACKS = ("local", "compose", "containers")
"""``containers`` is set inside of the container that `STACK=compose` hands a command to, and by nobody else."""

COULD_NOT_RUN = 5
"""Exit code when the command could not do its work; 0 to 4 are verdicts."""


class _Verbs(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # the library's signature
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in VERBS:
            return None
        module, _colon, attribute = VERBS[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="effectively-once", prog_name="once")
def once() -> None:
    """Run the system, break it, and see that every order is still invoiced once."""


def main() -> None:
    """Run the command; errors that we foresaw become a sentence and an exit code, never a stack trace."""
    try:
        if _stack() == "compose":
            sys.exit(importlib.import_module("infra.compose.host").run(sys.argv[1:]))
        code = once.main(prog_name="once", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(COULD_NOT_RUN)  # the library's own 2 would read as the verdict UNKNOWN
    except (click.Abort, KeyboardInterrupt):
        complain(_("Interrupted. What runs keeps running: `once status` shows it, `once down` stops it."))
        sys.exit(130)
    except OnceError as error:
        complain(str(error))
        sys.exit(COULD_NOT_RUN)
    except OSError as error:
        if error.filename is None:
            raise
        complain(_unusable(error))
        sys.exit(COULD_NOT_RUN)
    sys.exit(code if isinstance(code, int) else 0)


def _stack() -> str:
    stack = os.environ.get("STACK") or "local"
    if stack not in STACKS:
        raise click.UsageError(_("STACK={stack} is none. Say STACK=local or STACK=compose.").format(stack=stack))
    return stack


def _unusable(error: OSError) -> str:
    """Say of a file or folder that the system refused what to do: another user's home, a full or read-only disk."""
    return _(
        "{path} cannot be used: {why}. Run this as the user who started the system here, or set ONCE_HOME to a folder "
        "of your own on a disk with room; `once doctor` looks at it."
    ).format(path=error.filename, why=error.strerror)
