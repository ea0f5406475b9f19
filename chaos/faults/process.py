"""A process of the run is killed, or stopped for a while, by its pid.

Kill is SIGKILL: no handler runs and nothing is flushed, but the page cache survives, so this is a crash of a program
and not a loss of power. Timed, not count-based: the realised schedule is in the evidence.
"""

import signal
from dataclasses import dataclass
from gettext import gettext as _

from chaos.history import FaultPhase
from chaos.stage import Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """SIGKILL each target in turn; the supervisor starts it again."""

    name: str
    targets: tuple[str, ...]
    rounds: int = 1
    pause_seconds: float = 1.0

    @property
    def arms(self) -> tuple[str, ...]:
        return ()

    @property
    def spares(self) -> tuple[str, ...]:
        return ()

    def inject(self, stage: Stage) -> None:
        for _round in range(self.rounds):
            for target in self.targets:
                self._kill(stage, target)
            stage.wait(self.pause_seconds)

    def _kill(self, stage: Stage, target: str) -> None:
        if not stage.wait_until(lambda: stage.runs(target), 10.0):
            return
        pid = stage.deployment.pid(target)
        if pid is None:
            return
        stage.record(self.name, FaultPhase.INJECT, target, pid=pid)
        if stage.signal(pid, signal.SIGKILL):
            stage.record(self.name, FaultPhase.HIT, target, pid=pid, detail="SIGKILL")

    def heal(self, stage: Stage) -> None:
        for target in self.targets:
            if not stage.runs(target):
                stage.deployment.start_process(target)
        stage.record(self.name, FaultPhase.HEAL, ", ".join(self.targets))

    def probe(self, stage: Stage) -> str | None:
        stage.wait_until(lambda: all(stage.runs(target) for target in self.targets), 10.0)
        missing = [target for target in self.targets if not stage.runs(target)]
        return _("{names} did not come back").format(names=", ".join(missing)) if missing else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """SIGSTOP each target, SIGCONT after a while: a process that is not dead and does not know that time went by."""

    name: str
    targets: tuple[str, ...]
    seconds: float

    @property
    def arms(self) -> tuple[str, ...]:
        return ()

    @property
    def spares(self) -> tuple[str, ...]:
        return ()

    def inject(self, stage: Stage) -> None:
        for target in self.targets:
            if (pid := stage.deployment.pid(target)) is not None:
                stage.record(self.name, FaultPhase.INJECT, target, pid=pid)
                if stage.signal(pid, signal.SIGSTOP):
                    stage.record(self.name, FaultPhase.HIT, target, pid=pid, detail=f"SIGSTOP for {self.seconds} s")
        stage.wait(self.seconds)
        self._continue(stage)

    def heal(self, stage: Stage) -> None:
        self._continue(stage)
        stage.record(self.name, FaultPhase.HEAL, ", ".join(self.targets))

    def probe(self, stage: Stage) -> str | None:
        missing = [target for target in self.targets if not stage.runs(target)]
        return _("{names} did not come back").format(names=", ".join(missing)) if missing else None

    def _continue(self, stage: Stage) -> None:
        for target in self.targets:
            if (pid := stage.deployment.pid(target)) is not None:
                stage.signal(pid, signal.SIGCONT)
