"""How much memory a process and its children use."""

import psutil


def memory_bytes(pid: int | None) -> int:
    """Return a process's memory with its children's: the proportional share where the system knows it."""
    if pid is None:
        return 0
    try:
        process = psutil.Process(pid)
        return sum(_share(each) for each in [process, *process.children(recursive=True)])
    except psutil.Error:
        return 0


def _share(process: psutil.Process) -> int:
    try:
        full = process.memory_full_info()
        return int(getattr(full, "pss", 0) or full.uss)
    except psutil.Error:
        return int(process.memory_info().rss)
