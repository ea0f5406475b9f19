"""The clocks of several machines differ: some processes live in another time than the database and their colleagues.

By libfaketime, preloaded into the processes that the fault names, from their start to their end: everything that they
ask the operating system is shifted, in C and Rust libraries too, except for the monotonic clock, which has no relation
to the time of day. Linux on x86-64 with Python's package ``libfaketime`` only: the 0.9.10 of Debian fails whoever
sleeps until a moment of the monotonic clock, as Python does. It is not in our lock files, since its licence is the GPL.
Without it the scenario is left out, with words.

Not promised: a clock that leaps, since the library shares what it reads among threads without a lock and ends processes
that have several; and processes with a client of Kafka, which waits until a time of day inside of C and would wait for
hours. What a relay's wrong clock does at the broker is a test (``test_a_wrong_clock_is_not_the_rows_fault``).
"""

import contextlib
import json
import platform
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from chaos.faults import Quiet
from chaos.history import FaultPhase
from chaos.journal import Tail
from chaos.stage import Stage

WITHIN_SECONDS = 5.0


def library() -> Path | None:
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return None
    found = find_spec("libfaketime")
    if found is None or found.origin is None:
        return None
    path = Path(found.origin).parent / "vendor" / "libfaketime" / "src" / "libfaketime.so.1"
    return path if path.exists() else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClocksApart(Quiet):
    """Have the targets live in another time (``+2h``, ``-36m``); a hit is a line of a target's log from there."""

    targets: tuple[str, ...]
    shift: str
    shift_seconds: float

    @property
    def local_only(self) -> bool:
        return True

    @property
    def available(self) -> bool:
        return library() is not None

    @property
    def settings(self) -> Mapping[str, Mapping[str, str]]:
        if (path := library()) is None:
            return {}
        variables = {"LD_PRELOAD": str(path), "FAKETIME": self.shift, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        return dict.fromkeys(self.targets, variables)

    def inject(self, stage: Stage) -> None:
        stage.record(self.name, FaultPhase.INJECT, ", ".join(self.targets), detail=self.shift)
        for target in self.targets:
            if stage.wait_until(partial(self._lives_in_another_time, stage, target), WITHIN_SECONDS):
                stage.record(self.name, FaultPhase.HIT, target, detail=f"its log has lines of {self.shift}")

    def heal(self, stage: Stage) -> None:
        """Nothing is put right: the system has to come to its end with clocks that differ."""
        stage.record(self.name, FaultPhase.HEAL, ", ".join(self.targets), detail="to be lived with")

    def _lives_in_another_time(self, stage: Stage, target: str) -> bool:
        now = datetime.now(UTC).timestamp()
        return any(
            abs(datetime.fromisoformat(line["at"]).timestamp() - now - self.shift_seconds) < abs(self.shift_seconds) / 2
            for line in json_lines(stage.deployment.log_file(target))
            if "at" in line
        )


def json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a process's log that are ours; a library may write others."""
    for line in Tail(path).lines():
        with contextlib.suppress(ValueError):
            if isinstance(found := json.loads(line), dict):
                yield found
