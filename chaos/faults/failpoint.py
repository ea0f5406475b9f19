"""A process dies (or hangs, or waits) at a named point between two durable actions.

The point is armed in the running process and reached with its next unit of work, so the fault bites with work in
flight by construction. The process itself leaves the evidence, before it acts (``chaos/armed.py``). Count-based:
the same seed and the same counts reach the same point of the program, though not at the same microsecond.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from gettext import gettext as _

from chaos.armed import Arming
from chaos.history import FaultPhase
from chaos.stage import Stage
from shared.failpoints import Failpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class AtFailpoint:
    """Arm every target, wait until each has been hit, and again for each round.

    ``patience_seconds`` bounds the wait of one round: a standby that gets no work is not hit, and that is no error
    while another target was. A round that nobody hit leaves no evidence, and the run ends VACUOUS.
    """

    name: str
    targets: tuple[str, ...]
    point: Failpoint
    action: str = "exit"
    at_hit: int = 1
    rounds: int = 1
    patience_seconds: float = 15.0

    @property
    def arms(self) -> tuple[str, ...]:
        return self.targets

    @property
    def spares(self) -> tuple[str, ...]:
        return ()

    def inject(self, stage: Stage) -> None:
        for _round in range(self.rounds):
            before = {target: stage.hits(self.name, target) for target in self.targets}
            for target in self.targets:
                self._arm(stage, target)
            stage.wait_until(partial(self._all_hit, stage, before), self.patience_seconds)
        self._disarm(stage)

    def _arm(self, stage: Stage, target: str) -> None:
        pid = stage.deployment.pid(target)
        stage.record(self.name, FaultPhase.INJECT, target, pid=pid, failpoint=self.point, detail=self.action)
        stage.arm(target, Arming(self.point, self.action, self.at_hit, self.name))

    def _all_hit(self, stage: Stage, before: Mapping[str, int]) -> bool:
        return all(stage.hits(self.name, target) > count for target, count in before.items())

    def heal(self, stage: Stage) -> None:
        self._disarm(stage)
        stage.record(self.name, FaultPhase.HEAL, ", ".join(self.targets), detail="disarmed")

    def probe(self, stage: Stage) -> str | None:
        stage.wait_until(lambda: all(stage.runs(target) for target in self.targets), 10.0)
        missing = [target for target in self.targets if not stage.runs(target)]
        return _("{names} did not come back").format(names=", ".join(missing)) if missing else None

    def _disarm(self, stage: Stage) -> None:
        for target in self.targets:
            stage.disarm(target)
