"""Files that grow while a run goes on: a line for each record, appended, read back, and followed.

Each process that takes part in a run writes what *it* saw into a journal of its own: the client its intents, the
archiver the log, the sink its mail. What was written before a `kill -9` is there afterwards; at worst the last line is
torn, and a reader skips it and counts it. A ``Journal`` has one writer and promises nothing against power loss.

The evidence of faults has many writers: the scenario, and each armed process at the moment before it kills itself. So
each line of ``append`` leaves in a single ``write`` to a file opened for appending, followed by an fsync, and whole
lines of different processes never mix. No promise about their order: a record carries its time.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Generic, Self, TypeVar

from chaos.history import Record, as_row, from_row, to_line

R = TypeVar("R", bound=Record)


class Journal(Generic[R]):
    """An append-only file of JSON lines with one writer; every line is flushed to the operating system."""

    def __init__(self, path: Path) -> None:
        """Open for appending. A line torn by an earlier crash is cut off, and counted in `torn`."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.torn = _cut_torn_tail(path)
        self._file = path.open("ab", buffering=0)

    def append(self, record: R) -> None:
        self._file.write(to_line(as_row(record)))

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _cut_torn_tail(path: Path) -> int:
    if not path.exists() or path.stat().st_size == 0:
        return 0
    with path.open("rb+") as file:
        end = file.seek(0, 2)
        keep = _end_of_last_line(file, end)
        file.truncate(keep)
        return int(keep < end)


def _end_of_last_line(file: BinaryIO, end: int, block: int = 65536) -> int:
    while end > 0:
        start = max(0, end - block)
        file.seek(start)
        found = file.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


class JournalReader(Generic[R]):
    """Iterate over a journal's records. A torn last line is skipped and counted in `torn`.

    Raises ValueError for an unreadable line that is not the last one: that is damage, not a crash.
    """

    def __init__(self, path: Path, kind: type[R]) -> None:
        self._path = path
        self._kind = kind
        self.torn = 0

    def __iter__(self) -> Iterator[R]:
        self.torn = 0
        with self._path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if not line.endswith(b"\n"):
                    self.torn = 1
                    return
                yield self._record(number, line)

    def _record(self, number: int, line: bytes) -> R:
        try:
            return from_row(self._kind, json.loads(line))
        except (ValueError, KeyError) as error:
            raise ValueError(
                f"{self._path.name}, line {number} cannot be read as {self._kind.__name__}: {error!r}"
            ) from error


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
