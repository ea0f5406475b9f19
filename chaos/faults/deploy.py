"""A new release is rolled out: one process after the other ends in good order (SIGTERM) and starts again."""

from dataclasses import dataclass

from chaos.faults import Quiet, missing
from chaos.history import FaultPhase
from chaos.stage import Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class RollingRestart(Quiet):
    targets: tuple[str, ...]
    pause_seconds: float = 0.5

    def inject(self, stage: Stage) -> None:
        for target in self.targets:
            with stage.evidence_of(self.name, target, detail="SIGTERM, and started again"):
                stage.deployment.stop_process(target)
            stage.deployment.start_process(target)
            stage.wait_until(lambda target=target: stage.runs(target), 10.0)  # type: ignore[misc]
            stage.wait(self.pause_seconds)

    def heal(self, stage: Stage) -> None:
        for target in self.targets:
            if not stage.runs(target):
                stage.deployment.start_process(target)
        stage.record(self.name, FaultPhase.HEAL, ", ".join(self.targets))

    def probe(self, stage: Stage) -> str | None:
        return missing(stage, self.targets)
