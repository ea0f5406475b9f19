"""The user that PostgreSQL runs as when we are root, since it refuses to be root: a system user made for it."""

import pwd
import shutil
import stat
import subprocess
from os import environ
from pathlib import Path

from infra.local.errors import MissingToolError, StackError

SYSTEM_USER = "effectively-once"
ELSEWHERE = Path("/var/lib/effectively-once")
"""For what that user has to reach and cannot, where it is."""


def others_can_walk_to(path: Path) -> bool:
    """Tell whether a user who is neither owner nor in the group can reach what is in a folder."""
    existing = [each for each in (path, *path.parents) if each.exists()]
    return all(each.stat().st_mode & stat.S_IXOTH for each in existing)


def ensure_system_user(name: str) -> None:
    try:
        pwd.getpwnam(name)
    except KeyError:
        _add_system_user(name)


def _add_system_user(name: str) -> None:
    tool = shutil.which("useradd", path=f"{environ.get('PATH', '')}:/usr/sbin:/sbin")
    if tool is None:
        raise MissingToolError(
            "PostgreSQL does not run as root, and there is no `useradd` here to make a user for it. "
            f"Make a system user named {name}, or run as an ordinary user."
        )
    command = [tool, "--system", "--user-group", "--no-create-home", "--shell", "/usr/sbin/nologin", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in {0, 9}:  # 9: somebody else has just made it
        raise StackError(f"The user {name} for PostgreSQL could not be made: {done.stderr.strip()}")
