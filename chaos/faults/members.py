"""Members join and leave consumer groups: every join and every leave moves partitions from one process to another.

The joiners are spare processes of the run's own deployment, the same program as the standing members. They leave
cleanly (SIGTERM). A member that dies without a word is another fault (``failpoint.py``, ``process.py``).
"""

from dataclasses import dataclass
from functools import partial
from gettext import gettext as _

from confluent_kafka.admin import AdminClient

from chaos.faults import Quiet
from chaos.history import FaultPhase
from chaos.stage import Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class MembersComeAndGo(Quiet):
    """Start the spares, let each get work, stop them one after the other; again for each round.

    A spare counts as joined when the broker has given it partitions; starting a process takes longer than that.
    """

    members: tuple[str, ...]
    rounds: int = 1
    stay_seconds: float = 1.0
    patience_seconds: float = 10.0

    @property
    def spares(self) -> tuple[str, ...]:
        return self.members

    def inject(self, stage: Stage) -> None:
        for _round in range(self.rounds):
            for member in self.members:
                with stage.evidence_of(self.name, member, detail="joins"):
                    stage.deployment.start_process(member)
            for member in self.members:
                stage.wait_until(partial(_has_work, stage, member), self.patience_seconds)
            stage.wait(self.stay_seconds)
            for member in self.members:
                with stage.evidence_of(self.name, member, detail="leaves"):
                    stage.deployment.stop_process(member)
                stage.wait(self.stay_seconds / 2)

    def heal(self, stage: Stage) -> None:
        for member in self.members:
            stage.deployment.stop_process(member)
        stage.record(self.name, FaultPhase.HEAL, ", ".join(self.members), detail="spare members are out")

    def probe(self, stage: Stage) -> str | None:
        left = [member for member in self.members if stage.runs(member)]
        return _("{names} should have left and still runs").format(names=", ".join(left)) if left else None


def _has_work(stage: Stage, instance: str) -> bool:
    """Whether the broker counts the process among its group's members and has given it partitions."""
    group = stage.in_namespace(stage.deployment.programs[instance].group or "")
    admin = AdminClient({"bootstrap.servers": stage.stack.servers.kafka, "log_level": 0})
    members = admin.describe_consumer_groups([group], request_timeout=5.0)[group].result().members
    return any(member.client_id == instance and member.assignment.topic_partitions for member in members)
