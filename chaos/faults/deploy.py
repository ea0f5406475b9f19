"""A release is rolled out, as ``once roll`` does: one process after the other ends in good order and begins anew."""

from dataclasses import dataclass

from chaos.faults import Quiet, missing
from chaos.history import FaultPhase
from chaos.stage import Stage
from infra.local.renewal import sibling_of
from infra.roll import in_order


@dataclass(frozen=True, slots=True, kw_only=True)
class RollingRestart(Quiet):
    """Renew each target, readers before writers; the next when the one before works again."""

    targets: tuple[str, ...]
    alone: tuple[str, ...] = ()
    """Those of them that are the only members of their groups, and get a sibling for the time they are away."""
    pause_seconds: float = 0.2

    @property
    def spares(self) -> tuple[str, ...]:
        return tuple(map(sibling_of, self.alone))

    def inject(self, stage: Stage) -> None:
        for program in in_order(stage.deployment.programs[target] for target in self.targets):
            with stage.evidence_of(self.name, program.name, detail="ended in good order, and started again"):
                stage.deployment.renew_process(program.name)
            stage.wait(self.pause_seconds)

    def heal(self, stage: Stage) -> None:
        for target in self.targets:
            if not stage.runs(target):
                stage.deployment.start_process(target)
        stage.record(self.name, FaultPhase.HEAL, ", ".join(self.targets))

    def probe(self, stage: Stage) -> str | None:
        return missing(stage, self.targets)
