"""A consumer group is sent back to the start of its topics: everything that it has ever seen comes again.

Its offsets are set to 0, or deleted with the group, as a broker does to a group that was away for a week.

Offsets of a running group cannot be altered, so its members stop first; members that died without a word stay in the
group until the broker's session timeout, and the broker refuses until then.
"""

from dataclasses import dataclass

from chaos.faults import Quiet, missing
from chaos.history import FaultPhase
from chaos.stage import Stage
from infra.replay.group import Group, OffsetsRefusedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay(Quiet):
    """Stop the members, set every offset of the group to 0 (or delete the group), start the members."""

    group: str
    rounds: int = 1
    pause_seconds: float = 3.0
    patience_seconds: float = 20.0
    deletes: bool = False

    def inject(self, stage: Stage) -> None:
        for number in range(self.rounds):
            if number:
                stage.wait(self.pause_seconds)
            self._replay(stage)

    def _replay(self, stage: Stage) -> None:
        group = self._group(stage)
        stage.record(self.name, FaultPhase.INJECT, self.group, detail="members stop: " + ", ".join(group.members))
        with group.stopped(_silent):
            places = group.places()
            reached = sum(group.committed().values())
            detail = f"offsets of {len(places)} partitions {'deleted' if self.deletes else 'back to 0'}"
            stage.record(self.name, FaultPhase.HIT, self.group, detail=detail)
            stage.wait_until(lambda: self._sent_back(group), self.patience_seconds)
        # Bitten means read again: until the group stands where it stood.
        stage.wait_until(lambda: sum(group.committed().values()) >= reached, self.patience_seconds)

    def _sent_back(self, group: Group) -> bool:
        """Ask until the broker agrees: for it somebody may still be a member."""
        try:
            if self.deletes:
                group.forget()
            else:
                group.move(dict.fromkeys(group.places(), 0))
        except OffsetsRefusedError:
            return False
        return True

    def heal(self, stage: Stage) -> None:
        for member in self._standing(stage):
            if not stage.runs(member):
                stage.deployment.start_process(member)
        stage.record(self.name, FaultPhase.HEAL, self.group, detail="members run")

    def probe(self, stage: Stage) -> str | None:
        return missing(stage, self._standing(stage))

    def _standing(self, stage: Stage) -> tuple[str, ...]:
        """Return the members that run unless something happened to them: spares only come when they are called."""
        programs = stage.deployment.programs
        return tuple(member for member in self._group(stage).members if programs[member].autostart)

    def _group(self, stage: Stage) -> Group:
        return Group(stage.deployment, stage.stack.servers.kafka, self.group)


def _silent(_line: str) -> None:
    """Report nothing."""
