"""The sink's journal: one JSON line for each e-mail, on file before its sender is told that it was accepted.

Invariant: a sender that was answered 250 finds its mail in the journal, also when the sink is killed right after. Each
line is one append, so lines are whole. Not promised: that a line survives a loss of power (nothing is synced).
"""

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec


class Journal:
    """A file that only grows. Raises OSError when it cannot be written, so that the mail is not accepted."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._finish_torn_line()

    def append(self, entry: Mapping[str, object]) -> None:
        line = msgspec.json.encode(entry) + b"\n"
        if os.write(self._file, line) != len(line):
            raise OSError("the journal took only a part of the line; its disk may be full")

    def close(self) -> None:
        os.close(self._file)

    def _finish_torn_line(self) -> None:
        size = os.fstat(self._file).st_size
        if size and os.pread(self._file, 1, size - 1) != b"\n":
            os.write(self._file, b"\n")
