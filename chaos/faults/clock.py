"""The clocks of two machines differ: some processes live in another time than the database and their colleagues.

By libfaketime, preloaded into the processes that the fault names. It reads the shift from a file: everything that the
process asks the operating system is shifted, in C and Rust libraries too, except for the monotonic clock, which has
no relation to the time of day. Linux on x86-64 with the package ``libfaketime`` only. It is not in our lock files: its
licence is the GPL. Without it the scenario is left out, with words.
"""

import contextlib
import json
import platform
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from chaos.faults import Quiet
from chaos.history import FaultPhase
from chaos.journal import Tail
from chaos.stage import Stage

FILE = "faketime"
"""In the working folder of the processes, which is the run's own."""


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
    """Shift the clocks of the targets (``+2h``, ``-36m``), and put them right after a while."""

    targets: tuple[str, ...]
    shift: str
    shift_seconds: float
    seconds: float = 6.0

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
        variables = {
            "LD_PRELOAD": str(path),
            "FAKETIME_TIMESTAMP_FILE": FILE,
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        return dict.fromkeys(self.targets, variables)

    def inject(self, stage: Stage) -> None:
        stage.record(self.name, FaultPhase.INJECT, ", ".join(self.targets), detail=self.shift)
        self._shift(stage, self.shift)
        stage.wait(self.seconds)
        for target in self.targets:
            if self._lived_in_another_time(stage, target):
                stage.record(self.name, FaultPhase.HIT, target, detail=f"its log has lines of {self.shift}")
        self._shift(stage, "+0")

    def heal(self, stage: Stage) -> None:
        self._shift(stage, "+0")
        stage.record(self.name, FaultPhase.HEAL, ", ".join(self.targets))

    def _shift(self, stage: Stage, shift: str) -> None:
        draft = stage.deployment.directory / f".{FILE}"
        draft.write_text(f"{shift}\n")
        draft.replace(stage.deployment.directory / FILE)

    def _lived_in_another_time(self, stage: Stage, target: str) -> bool:
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
