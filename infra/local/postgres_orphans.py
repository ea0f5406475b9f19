"""Server processes that outlived their killed parent: they hold shared memory and block the next start."""

import signal
from pathlib import Path

import psutil

_MAY_TAKE_SECONDS = 10


def end_orphans(data: Path) -> None:
    """Wait for those that work in a folder of data, and kill what does not end by itself."""
    orphans = [process for process in psutil.process_iter() if _works_in(process, data)]
    _, stubborn = psutil.wait_procs(orphans, timeout=_MAY_TAKE_SECONDS)
    for process in stubborn:
        process.send_signal(signal.SIGKILL)
    psutil.wait_procs(stubborn, timeout=_MAY_TAKE_SECONDS)


def _works_in(process: psutil.Process, data: Path) -> bool:
    try:
        return process.name().startswith("postgres") and process.cwd() == str(data)
    except (psutil.Error, OSError):
        return False
