"""The same commands on containers, from outside: ``STACK=compose once up`` and its like.

`ONCE_PROFILE=cluster` takes docker-compose.cluster.yml along, in every command (docs/cluster.md).

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
from infra.local.profile import Profile

COMPOSE = ("docker", "compose", "--project-directory", str(PROJECT))


def run(arguments: Sequence[str]) -> int:
    """Do one command of ours and return its exit code."""
    if any(each.startswith("--profile") for each in arguments):
        raise StackError(
            _("In containers the profile is said to every command: ONCE_PROFILE=cluster STACK=compose once up.")
        )
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

    code = conclude(examine_engine())
    # Copies can be looked at from within alone.
    return code or (_inside(["doctor"]) if _files() else 0)


def _files() -> list[str]:
    """Name what a cluster is described by; the one file alone is compose's own default."""
    if os.environ.get("ONCE_PROFILE", Profile.SMALL) != Profile.CLUSTER:
        return []
    return ["-f", "docker-compose.yml", "-f", "docker-compose.cluster.yml"]


def _compose(*arguments: str) -> int:
    files = _files()
    command = [*COMPOSE, *(str(PROJECT / each) if each.endswith(".yml") else each for each in files), *arguments]
    click.echo("$ " + shlex.join(["docker", "compose", *files, *arguments]), err=True)
    try:
        return subprocess.run(command, check=False, env={"BUILDKIT_PROGRESS": "quiet", **os.environ}).returncode
    except FileNotFoundError as error:
        raise StackError(
            _("There is no `docker` here. Install Docker, or use STACK=local, which needs no containers.")
        ) from error
