"""The queue of commands is emptied: Redis comes back with nothing, as it does without its append-only file."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass

from redis import Redis

from chaos.faults import Quiet, missing
from chaos.history import FaultPhase
from chaos.stage import Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueEmptied(Quiet):
    """Stop the worker, wait until commands queue up, throw them away, start the worker.

    ``reminders``: what the housekeeper is tuned to, so that it misses the mails within seconds instead of minutes.
    """

    worker: str
    housekeeper: str
    waiting: int = 10
    patience_seconds: float = 20.0

    @property
    def settings(self) -> Mapping[str, Mapping[str, str]]:
        return {self.housekeeper: {"MAIL_OVERDUE_SECONDS": "4", "MAIL_CHECK_SECONDS": "1"}}

    def inject(self, stage: Stage) -> None:
        deployment = stage.deployment
        stage.record(self.name, FaultPhase.INJECT, self.worker, detail="stops, so that commands queue up")
        url = stage.stack.redis_url(deployment.redis_database)
        with closing(Redis.from_url(url)) as queue:
            try:
                deployment.stop_process(self.worker)
                stage.wait_until(
                    lambda: int(queue.llen(deployment.celery_queue)) >= self.waiting, self.patience_seconds
                )
                if lost := int(queue.llen(deployment.celery_queue)):
                    stage.record(self.name, FaultPhase.HIT, "redis", detail=f"{lost} commands are thrown away")
                queue.flushdb()
            finally:
                deployment.start_process(self.worker)

    def heal(self, stage: Stage) -> None:
        if not stage.runs(self.worker):
            stage.deployment.start_process(self.worker)
        stage.record(self.name, FaultPhase.HEAL, self.worker)

    def probe(self, stage: Stage) -> str | None:
        return missing(stage, (self.worker,))
