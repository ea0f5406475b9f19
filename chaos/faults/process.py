"""A process of the run is killed, or stopped for a while, by its pid.

Kill is SIGKILL: no handler runs and nothing is flushed, but the page cache survives, so this is a crash of a program
and not a loss of power. Timed, not count-based: the realised schedule is in the evidence.
"""

import signal
from dataclasses import dataclass

from chaos.faults import Quiet, missing
from chaos.history import FaultPhase
from chaos.stage import Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill(Quiet):
    """SIGKILL each target in turn; the supervisor starts it again."""

    targets: tuple[str, ...]
    rounds: int = 1
    pause_seconds: float = 1.0

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
        return missing(stage, self.targets)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause(Quiet):
    """SIGSTOP each target, SIGCONT after a while: a process that is not dead and does not know that time went by."""

    targets: tuple[str, ...]
    seconds: float

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
        return missing(stage, self.targets)

    def _continue(self, stage: Stage) -> None:
        for target in self.targets:
            if (pid := stage.deployment.pid(target)) is not None:
                stage.signal(pid, signal.SIGCONT)
