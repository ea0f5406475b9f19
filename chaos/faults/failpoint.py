"""A process dies (or hangs, or waits) at a named point between two durable actions.

The point is armed in the running process and reached with its next unit of work, so the fault bites with work in
flight by construction. The process itself leaves the evidence, before it acts (``chaos/armed.py``). Count-based:
the same seed and the same counts reach the same point of the program, though not at the same microsecond.
"""

import signal
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from chaos.armed import Arming
from chaos.faults import Quiet, missing
from chaos.history import FaultPhase
from chaos.stage import Stage
from shared.failpoints import Failpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class AtFailpoint(Quiet):
    """Arm every target, wait until each has been hit, and again for each round.

    ``patience_seconds`` bounds the wait of one round: a standby that gets no work is not hit, and that is no error
    while another target was. A round that nobody hit leaves no evidence, and the run ends VACUOUS.
    """

    targets: tuple[str, ...]
    point: Failpoint
    action: str = "exit"
    at_hit: int = 1
    rounds: int = 1
    patience_seconds: float = 15.0
    goes_on_after_seconds: float | None = None
    """For the action ``stop``: how long the process hangs at its point."""

    @property
    def arms(self) -> tuple[str, ...]:
        return self.targets

    def inject(self, stage: Stage) -> None:
        for _round in range(self.rounds):
            before = {target: stage.hits(self.name, target) for target in self.targets}
            for target in self.targets:
                self._arm(stage, target)
            stage.wait_until(partial(self._all_hit, stage, before), self.patience_seconds)
            if self.goes_on_after_seconds is not None:
                stage.wait(self.goes_on_after_seconds)
                self._continue(stage)
        self._disarm(stage)

    def _arm(self, stage: Stage, target: str) -> None:
        pid = stage.deployment.pid(target)
        stage.record(self.name, FaultPhase.INJECT, target, pid=pid, failpoint=self.point, detail=self.action)
        stage.arm(target, Arming(self.point, self.action, self.at_hit, self.name))

    def _all_hit(self, stage: Stage, before: Mapping[str, int]) -> bool:
        return all(stage.hits(self.name, target) > count for target, count in before.items())

    def heal(self, stage: Stage) -> None:
        self._disarm(stage)
        self._continue(stage)
        stage.record(self.name, FaultPhase.HEAL, ", ".join(self.targets), detail="disarmed")

    def probe(self, stage: Stage) -> str | None:
        return missing(stage, self.targets)

    def _continue(self, stage: Stage) -> None:
        if self.action == "stop":
            for target in self.targets:
                if (pid := stage.deployment.pid(target)) is not None:
                    stage.signal(pid, signal.SIGCONT)

    def _disarm(self, stage: Stage) -> None:
        for target in self.targets:
            stage.disarm(target)
