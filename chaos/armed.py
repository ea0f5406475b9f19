"""A service's second entry point: the same program with its failpoints armed from outside.

    python -m chaos.armed services.relay
    python -m chaos.armed services.billing consumer

Arming is a line in the file ``$FAILPOINTS_DIR/$INSTANCE`` (written by a running scenario) or in ``$FAILPOINTS`` (fixed
at the start):

    relay.after_publish_before_settle=exit@3 kill-a-relay

which reads: the third time that this point is reached, act; the word after the blank names the fault in the evidence.
Actions: ``exit`` (SIGKILL to itself: no handler runs, nothing is flushed), ``stop`` (SIGSTOP: the process hangs until
somebody continues it) and ``sleep:SECONDS``. Several armings are separated by new lines or semicolons.

Invariant: the evidence of a hit is on disk in ``$FAULTS_JOURNAL`` before the action, and the arming is gone before it,
so one arming bites once however often the process restarts. Services themselves never arm anything; without this entry
point both variables mean nothing.
"""

import os
import re
import runpy
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from chaos import hot_keys, journal
from chaos.history import FaultMark, FaultPhase
from shared import failpoints
from shared.failpoints import Failpoint

_LINE = re.compile(r"(?P<point>[\w.]+)=(?P<action>exit|stop|sleep:[\d.]+)(?:@(?P<hit>\d+))?(?:\s+(?P<fault>\S+))?")


class ArmingError(ValueError):
    """A line that cannot be read as ``point=action@hit fault``."""


@dataclass(frozen=True, slots=True)
class Arming:
    """One failpoint, what to do there, at which time it is reached, and the fault that asked for it."""

    point: Failpoint
    action: str
    hit: int = 1
    fault: str = "failpoint"

    def __str__(self) -> str:
        return f"{self.point}={self.action}@{self.hit} {self.fault}"


def parse(text: str) -> list[Arming]:
    """Read armings. Raises ArmingError naming the line: a misspelt failpoint must not pass as one that never bit."""
    return [_parse_line(line.strip()) for line in re.split(r"[;\n]", text) if line.strip()]


def _parse_line(line: str) -> Arming:
    found = _LINE.fullmatch(line)
    if found is None:
        raise ArmingError(f"cannot read the arming {line!r}; expected point=exit|stop|sleep:SECONDS[@HIT] [FAULT]")
    try:
        point = Failpoint(found["point"])
    except ValueError:
        known = ", ".join(Failpoint)
        raise ArmingError(f"no failpoint is called {found['point']!r}; there are: {known}") from None
    return Arming(point, found["action"], int(found["hit"] or 1), found["fault"] or "failpoint")


def arm(directory: Path, instance: str, *armings: Arming) -> None:
    """Have a running instance act at these points; replaces what was armed before. Atomic for the reader."""
    directory.mkdir(parents=True, exist_ok=True)
    draft = directory / f".{instance}.draft"
    draft.write_text("".join(f"{arming}\n" for arming in armings))
    draft.replace(directory / instance)


def disarm(directory: Path, instance: str) -> None:
    (directory / instance).unlink(missing_ok=True)


class ArmedHook:
    """Called at every failpoint of the process: looks at the arming file, counts, leaves evidence, acts."""

    def __init__(self, instance: str, directory: Path | None, evidence: Path | None, fixed: str = "") -> None:
        self._instance = instance
        self._file = directory / instance if directory else None
        self._evidence = evidence
        self._seen: tuple[int, int] | None = None
        self._armings = parse(fixed)
        self._lock = threading.Lock()

    def __call__(self, point: Failpoint) -> None:
        with self._lock:
            self._refresh()
            due = self._count(point)
            if due is None:
                return
            self._leave_evidence(due)
            self._write_back()
        act(due.action)

    def _refresh(self) -> None:
        if self._file is None:
            return
        try:
            found = self._file.stat()
        except FileNotFoundError:
            if self._seen is not None:
                self._seen, self._armings = None, []
            return
        if (mark := (found.st_mtime_ns, found.st_ino)) != self._seen:
            self._seen, self._armings = mark, parse(self._file.read_text())

    def _count(self, point: Failpoint) -> Arming | None:
        for index, arming in enumerate(self._armings):
            if arming.point is point:
                self._armings[index] = replace(arming, hit=arming.hit - 1)
                if arming.hit <= 1:
                    return self._armings.pop(index)
        return None

    def _leave_evidence(self, arming: Arming) -> None:
        if self._evidence is not None:
            hit = FaultMark(
                fault=arming.fault,
                phase=FaultPhase.HIT,
                at=datetime.now(UTC),
                target=self._instance,
                pid=os.getpid(),
                failpoint=arming.point,
                detail=arming.action,
            )
            journal.append(self._evidence, hit)

    def _write_back(self) -> None:
        if self._file is None:
            return
        if self._armings:
            arm(self._file.parent, self._instance, *self._armings)
        else:
            disarm(self._file.parent, self._instance)


def act(action: str) -> None:
    if action == "exit":
        os.kill(os.getpid(), signal.SIGKILL)
    elif action == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    else:
        time.sleep(float(action.removeprefix("sleep:")))


def hook_from(environ: Mapping[str, str]) -> Callable[[Failpoint], None]:
    def path(variable: str) -> Path | None:
        return Path(environ[variable]) if environ.get(variable) else None

    return ArmedHook(
        environ.get("INSTANCE", "unnamed"),
        path("FAILPOINTS_DIR"),
        path("FAULTS_JOURNAL"),
        environ.get("FAILPOINTS", ""),
    )


def main(argv: list[str]) -> None:
    if not argv:
        raise SystemExit("usage: python -m chaos.armed MODULE [ARGUMENT …], e.g. chaos.armed services.billing consumer")
    failpoints.arm(hook_from(os.environ))
    if share := os.environ.get("HOT_KEYS"):
        hot_keys.skew(float(share))
    module = argv[0]
    sys.argv = argv
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(sys.argv[1:])
