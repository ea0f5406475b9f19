"""A large run is judged at two desks at once, each in a process of its own, since one interpreter uses one processor.

What clients intended and what the groups made of the log goes to the second desk; what the outboxes and the log say
stays at the first. The second makes nothing of the payloads in the log. Nothing but answers goes between them. A desk
whose process dies has answered nothing: its rules are UNKNOWN.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from gettext import gettext as _
from pathlib import Path
from types import TracebackType
from typing import Self

from chaos.checker.canary import Canary, Fate
from chaos.checker.finding import Invariant
from chaos.checker.result import Answer, Result

LARGE_BYTES = 40 << 20
"""From this size of the log on, a second process saves more time than its start takes."""
OF_INTENTS = frozenset({"S00", "S01", "S02", "S03", "S24", "W04"})
"""Rules about what clients asked for, which nobody else reads: asked first, so that it makes room for the log."""
SECOND = OF_INTENTS | {"S08", "S09", "S10", "S11", "S12", "S13", "S16", "S17", "S20", "S21", "S23"}
"""Rules that read the intents, the inboxes or the papers, and of the log no more than which events it has."""
SECOND_OMITS = frozenset({"aggregate_type", "payload", "sha256", "timestamp"})
"""Fields of the log's lines that none of these asks for."""
_PROGRAM = "from chaos.checker.verdict import serve; serve()"


@dataclass(frozen=True, slots=True)
class Answers:
    """What a desk has to say. `torn`: torn last lines by file."""

    results: list[Result] = field(default_factory=list)
    canaries: list[Canary] = field(default_factory=list)
    torn: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: Answers) -> Answers:
        return Answers(self.results + other.results, self.canaries + other.canaries, {**self.torn, **other.torn})


def is_large(directory: Path, large_bytes: int) -> bool:
    """Say whether a second desk is worth its while, and there is a processor for it."""
    log = directory / "log.jsonl"
    return log.exists() and log.stat().st_size >= large_bytes and (os.cpu_count() or 1) > 1


class SecondDesk:
    """Asks some rules of a directory in another process, from when it is entered until `answers` waits for it."""

    def __init__(self, directory: Path, invariants: Sequence[Invariant], canaries: bool) -> None:
        self._invariants = invariants
        self._canaries = canaries
        self._question = pickle.dumps((directory.absolute(), [i.id for i in invariants], canaries))

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert self.process.stdin is not None
        self.process.stdin.write(self._question)
        self.process.stdin.close()
        return self

    def answers(self) -> Answers:
        assert self.process.stdout is not None
        said = self.process.stdout.read()
        if self.process.wait() == 0:
            answers: Answers = pickle.loads(said)  # noqa: S301 - from a process of our own
            return answers
        return self._no_answer(_("the process that was to look at it has died; was there enough memory?"))

    def _no_answer(self, reason: str) -> Answers:
        results = [Result(i.id, i.meaning, i.family, Answer.UNKNOWN, reason) for i in self._invariants]
        return Answers(results, [Canary(i.id, Fate.NOT_PLANTED, reason) for i in self._invariants if self._canaries])

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()
