"""The primary of two PostgreSQL servers is killed for good, and its standby takes its place."""

import signal
from dataclasses import dataclass
from gettext import gettext as _

from chaos.faults import Quiet
from chaos.history import FaultPhase
from chaos.stage import Stage
from infra.local import failover

_NOTICED_WITHIN_SECONDS = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PromoteStandby(Quiet):
    """Kill the primary (SIGKILL), promote its standby, and go on there; the old one is made a copy when all is over.

    ``behind_seconds``: for so long before, commits are answered without the standby, and it receives nothing.
    """

    behind_seconds: float = 0.0

    @property
    def local_only(self) -> bool:
        return True

    def inject(self, stage: Stage) -> None:
        primary, standby = failover.pair(stage.stack)
        stage.record(self.name, FaultPhase.INJECT, primary.name, detail=f"{standby.name} is to take its place")
        if self.behind_seconds:
            failover.release_copies(primary)
            stage.stack.supervisor().stop_process(standby.name)
            stage.wait(self.behind_seconds)
        failover.promote(stage.stack, stage.say, end=lambda name: self._kill(stage, name))

    def _kill(self, stage: Stage, name: str) -> None:
        supervisor = stage.stack.supervisor()
        pid = supervisor.pid(name)
        if pid is not None:
            stage.record(self.name, FaultPhase.HIT, name, pid=pid, detail="SIGKILL of the primary")
            stage.signal(pid, signal.SIGKILL)
            # Its supervisor starts it again, as the standby that it is now.
            stage.wait_until(lambda: supervisor.pid(name) not in (None, pid), _NOTICED_WITHIN_SECONDS)

    def heal(self, stage: Stage) -> None:
        stage.stack.servers_up(stage.say)
        if not failover.has_primary(stage.stack):
            failover.promote(stage.stack, stage.say)
        if not failover.is_whole(stage.stack):
            failover.rebuild(stage.stack, stage.say)
        stage.record(self.name, FaultPhase.HEAL, "postgres")

    def probe(self, stage: Stage) -> str | None:
        return None if failover.is_whole(stage.stack) else _("the primary has no copy that commits wait for")
