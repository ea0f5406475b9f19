"""The read model is built again while orders keep coming, and put in the place of the live one."""

from dataclasses import dataclass

from chaos.faults import Quiet, missing
from chaos.history import FaultPhase
from chaos.stage import Stage
from infra.replay.rebuild import rebuild

MEMBERS = ("analytics-1",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuild(Quiet):
    """Spoil the live read model by one minor unit a row, then build it again beside itself and switch.

    What was spoiled stays wrong unless the new version is really read from the log.
    """

    def inject(self, stage: Stage) -> None:
        stage.record(self.name, FaultPhase.INJECT, "analytics", detail="every sum of revenue is one more than it was")
        with stage.database("analytics") as connection:
            connection.execute("UPDATE revenue SET amount_minor = amount_minor + 1")
        done = rebuild(stage.deployment, stage.stack.servers.kafka, stage.say)
        detail = f"{done.events} events read again, figures stood still for {done.paused_seconds:.1f} s"
        stage.record(self.name, FaultPhase.HIT, "analytics", detail=detail)

    def heal(self, stage: Stage) -> None:
        for member in MEMBERS:
            if not stage.runs(member):
                stage.deployment.start_process(member)
        stage.record(self.name, FaultPhase.HEAL, "analytics", detail="members run")

    def probe(self, stage: Stage) -> str | None:
        return missing(stage, MEMBERS)
