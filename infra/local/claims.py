"""A word between processes of one user: this block of ports is mine, I am about to listen there.

Without it two stacks that start in the same moment find the same ports free, and one of them fails.
"""

import fcntl
import os
import tempfile
import time
from pathlib import Path
from typing import Final

import psutil

CLAIM_SECONDS: Final = 60.0
"""So long a claim is kept for a process that is alive; by then it listens, or has given up."""


def claim(port: int, folder: Path | None = None) -> bool:
    """Claim the block that begins at a port. Returns whether nobody else has just done so.

    Where no folder for claims can be had, everybody gets everything, as without them.
    """
    folder = folder or Path(tempfile.gettempdir()) / f"once-ports-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock.fileno(), fcntl.LOCK_EX)
            return _claim(folder / str(port))
    except OSError:
        return True


def _claim(note: Path) -> bool:
    if note.exists() and time.time() - note.stat().st_mtime < CLAIM_SECONDS:
        owner = note.read_text(encoding="ascii")
        if owner != str(os.getpid()) and owner.isdecimal() and psutil.pid_exists(int(owner)):
            return False
    note.write_text(str(os.getpid()), encoding="ascii")
    return True
