"""Lines that several processes append to one file, and following a file that somebody else appends to.

``history.Journal`` has one writer. The evidence of faults has many: the scenario, and each armed process at the moment
before it kills itself. So each of these lines leaves in a single ``write`` to a file opened for appending, followed by
an fsync, and whole lines of different processes never mix. No promise about their order: a record carries its time.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from chaos.history import Record, as_row, to_line


def append(path: Path, record: Record) -> None:
    """Write one durable line and let go of the file again."""
    descriptor = os.open(path, os.O_APPEND | os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644)
    try:
        os.write(descriptor, to_line(as_row(record)))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a file that may not exist yet; a last line cut off by a crash is left out."""
    for line in Tail(path).lines():
        yield json.loads(line)


class Tail:
    """What has been appended to a file since the last look. A rotated or shortened file is read from its start."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._inode = 0
        self._position = 0

    def lines(self) -> Iterator[bytes]:
        try:
            stream = self._path.open("rb")
        except FileNotFoundError:
            return
        with stream:
            found = os.fstat(stream.fileno())
            if found.st_ino != self._inode or found.st_size < self._position:
                self._inode, self._position = found.st_ino, 0
            stream.seek(self._position)
            for line in stream:
                if not line.endswith(b"\n"):
                    return
                self._position += len(line)
                yield line
