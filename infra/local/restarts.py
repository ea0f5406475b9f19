"""What happened to supervised processes, read from the supervisor's own log.

supervisord keeps no count of restarts, but writes a line for every start and every end. A restart is a start that
follows an end nobody asked for; stopping and starting a process by hand is none.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

_LINE = re.compile(
    r"^(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) \w+ "
    r"(?:spawned: '(?P<spawned>[^']+)' with pid (?P<pid>\d+)"
    r"|(?P<how>exited|stopped): (?P<ended>\S+) \((?P<reason>.*)\))"
)


@dataclass(frozen=True, slots=True)
class Happening:
    """One line of a process's life. ``pid`` is known for starts and for the ends that follow them."""

    at: datetime
    name: str
    what: Literal["started", "exited", "stopped"]
    pid: int | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class History:
    happenings: tuple[Happening, ...]

    def restarts(self, name: str) -> int:
        """Count the starts that followed an end nobody asked for."""
        return self._counted()[name]

    def _counted(self) -> Counter[str]:
        counted: Counter[str] = Counter()
        last: dict[str, str] = {}
        for each in self.happenings:
            if each.what == "started" and last.get(each.name) == "exited":
                counted[each.name] += 1
            last[each.name] = each.what
        return counted


def read_history(log: Path) -> History:
    """Read the log and its rotated parts, oldest first; a missing log is an empty history."""
    parts = [log.with_name(f"{log.name}.{index}") for index in (2, 1)] + [log]
    lines = (line for part in parts if part.exists() for line in _lines(part))
    return History(tuple(parse(lines)))


def parse(lines: Iterable[str]) -> Iterable[Happening]:
    """Turn the supervisor's lines into happenings; lines about anything else are passed over."""
    pids: dict[str, int] = {}
    for line in lines:
        match = _LINE.match(line)
        if match is None:
            continue
        # The supervisor writes local time without a zone.
        at = datetime.strptime(match["at"], "%Y-%m-%d %H:%M:%S,%f").astimezone()
        if match["spawned"]:
            pids[match["spawned"]] = int(match["pid"])
            yield Happening(at, match["spawned"], "started", int(match["pid"]))
        else:
            what: Literal["exited", "stopped"] = "exited" if match["how"] == "exited" else "stopped"
            yield Happening(at, match["ended"], what, pids.get(match["ended"]), match["reason"])


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").splitlines()
