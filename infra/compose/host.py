"""The same commands on containers, from outside: ``STACK=compose once up`` and its like.

What starts and stops the system is `docker compose` itself. Everything else runs in the container of the service
``once``, so that it needs neither Python nor anything else of this machine, and its exit code is passed on.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from gettext import gettext as _

import click

from infra.doctor.engine import examine_engine
from infra.local.errors import StackError
from infra.local.home import PROJECT

COMPOSE = ("docker", "compose", "--project-directory", str(PROJECT))


def run(arguments: Sequence[str]) -> int:
    """Do one command of ours and return its exit code."""
    verb = arguments[0] if arguments else ""
    match verb:
        case "up":
            return _up()
        case "down":
            return _compose("down", "--remove-orphans")
        case "reset":
            return _compose("down", "--remove-orphans", "--volumes") or _up()
        case "doctor":
            return _doctor()
        case _:
            return _inside(arguments)


def _up() -> int:
    code = _compose("up", "--detach", "--wait")
    if code == 0:
        _compose("logs", "--no-log-prefix", "--tail", "12", "load")
    return code


def _inside(arguments: Sequence[str]) -> int:
    terminal = [] if sys.stdout.isatty() else ["--no-TTY"]
    return _compose("run", "--rm", *terminal, "once", *arguments)


def _doctor() -> int:
    from infra.cli.doctor import conclude

    return conclude(examine_engine())


def _compose(*arguments: str) -> int:
    command = [*COMPOSE, *arguments]
    click.echo("$ " + shlex.join(["docker", "compose", *arguments]), err=True)
    try:
        return subprocess.run(command, check=False, env={"BUILDKIT_PROGRESS": "quiet", **os.environ}).returncode
    except FileNotFoundError as error:
        raise StackError(
            _("There is no `docker` here. Install Docker, or use STACK=local, which needs no containers.")
        ) from error
