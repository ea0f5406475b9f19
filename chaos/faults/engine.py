"""What publishes the events is changed while orders keep coming, as an operator would: ``once engine switch``."""

from dataclasses import dataclass

from chaos.faults import Quiet, missing
from chaos.history import FaultPhase
from chaos.stage import Stage
from infra.engine import switch
from infra.local.services import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchEngine(Quiet):
    """Move the run's system to an engine. Nothing to heal: a switch that failed has put everything back."""

    to: Engine

    @property
    def local_only(self) -> bool:
        return True

    def inject(self, stage: Stage) -> None:
        detail = f"from {stage.deployment.engine}"
        stage.record(self.name, FaultPhase.INJECT, self.to, detail=detail)
        switch(stage.deployment, self.to, stage.say, bootstrap=stage.stack.servers.kafka)
        # Only now: a switch that failed has changed nothing.
        stage.record(self.name, FaultPhase.HIT, self.to, detail=detail)

    def probe(self, stage: Stage) -> str | None:
        table = stage.deployment.programs.values()
        return missing(stage, tuple(program.name for program in table if program.autostart))
