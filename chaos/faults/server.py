"""A server under the services is killed (SIGKILL, by the pid that the local stack wrote down) and comes back.

PostgreSQL recovers from its write-ahead log, Kafka from its own; the page cache survives, so this says nothing about
a loss of power. The servers are shared by everything that runs on this stack: while this fault lasts, nothing else
on the stack works either.
"""

import signal
from dataclasses import dataclass
from enum import StrEnum
from gettext import gettext as _

from chaos.history import FaultPhase
from chaos.stage import Stage


class Server(StrEnum):
    POSTGRES = "postgres"
    KAFKA = "kafka"
    REDIS = "redis"


@dataclass(frozen=True, slots=True, kw_only=True)
class KillServer:
    """SIGKILL the server; its supervisor starts it again, and it recovers by itself."""

    name: str
    server: Server
    patience_seconds: float = 60.0

    @property
    def arms(self) -> tuple[str, ...]:
        return ()

    @property
    def spares(self) -> tuple[str, ...]:
        return ()

    def inject(self, stage: Stage) -> None:
        supervisor, name = stage.stack.supervisor(), self.server.value
        pid = supervisor.pid(name)
        stage.record(self.name, FaultPhase.INJECT, self.server, pid=pid)
        if pid is None:
            return
        stage.record(self.name, FaultPhase.HIT, self.server, pid=pid, detail="SIGKILL")
        stage.signal(pid, signal.SIGKILL)
        stage.wait_until(lambda: supervisor.pid(name) not in (None, pid), self.patience_seconds)
        stage.stack.servers_up(stage.say)

    def heal(self, stage: Stage) -> None:
        stage.stack.servers_up(stage.say)
        stage.record(self.name, FaultPhase.HEAL, self.server)

    def probe(self, stage: Stage) -> str | None:
        if stage.stack.servers_running():
            return None
        return _("{server} is not running").format(server=self.server)
