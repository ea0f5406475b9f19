"""The mail server takes e-mails and loses answers."""

from collections.abc import Mapping
from dataclasses import dataclass

from chaos import journal
from chaos.faults import Quiet
from chaos.history import FaultPhase
from chaos.stage import Stage

SINK = "mail-sink"


@dataclass(frozen=True, slots=True, kw_only=True)
class MailAnswersLost(Quiet):
    """Every so-many-th mail is written down by the sink, and its sender left without a word."""

    every: int
    patience_seconds: float = 15.0

    @property
    def settings(self) -> Mapping[str, Mapping[str, str]]:
        return {SINK: {"LOSE_ANSWER_EVERY": str(self.every)}}

    def inject(self, stage: Stage) -> None:
        stage.record(self.name, FaultPhase.INJECT, SINK, detail=f"one answer in {self.every}")
        if stage.wait_until(lambda: self._lost(stage), self.patience_seconds):
            stage.record(self.name, FaultPhase.HIT, SINK, detail=f"{self._lost(stage)} answers lost so far")

    def _lost(self, stage: Stage) -> int:
        return sum(not line["answered"] for line in journal.rows(stage.deployment.mail_journal))
