"""What runs leave behind: one run at a time, no orphans, the last few runs' evidence kept.

A run's processes end with it. Its databases and topics stay, so that ``once trace`` can tell the way of its orders,
until the next run has been judged. Whatever a killed run left behind, the next command finds by the notes in the run's
folder and clears away.
"""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from gettext import gettext as _
from pathlib import Path

from infra.local.deployment import Deployment
from infra.local.stack import LocalStack
from shared.errors import OnceError

KEPT_RUNS = 6


class RunInProgressError(OnceError):
    """Another run holds this stack."""


@contextmanager
def only_run(runs: Path) -> Iterator[None]:
    """Hold the place of the one run that a stack can take. The lock goes with the process, however it ends."""
    runs.mkdir(parents=True, exist_ok=True)
    with (runs / "lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise RunInProgressError(
                _(
                    "Another run is going on here (process {pid}), and two would disturb each other. Wait for it to "
                    "end, stop it with Ctrl-C, or use a stack of your own: ONCE_HOME=/another/folder."
                ).format(pid=lock.read().strip() or "?")
            ) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


def leftovers(stack: LocalStack, but: str | None = None) -> list[Deployment]:
    """The deployments of earlier runs that are still noted."""
    return [each for each in stack.deployments() if each.namespace not in ("main", but)]


def stop_leftovers(stack: LocalStack, but: str | None = None) -> None:
    """End the processes of earlier runs; their databases stay."""
    for deployment in leftovers(stack, but):
        deployment.stop()


def destroy_leftovers(stack: LocalStack, but: str | None = None) -> None:
    """Remove databases, topics and groups of earlier runs, and the oldest evidence. The servers must be up."""
    for deployment in leftovers(stack, but):
        deployment.destroy()
    folders = [folder for folder in stack.home.runs.iterdir() if folder.is_dir()]
    for folder in sorted(folders, key=lambda found: found.stat().st_mtime, reverse=True)[KEPT_RUNS:]:
        shutil.rmtree(folder, ignore_errors=True)
