"""What happens to one or two of the brokers of a cluster. Killing or restarting a certain one is in ``server.py``.

Which broker leads is asked when the fault is injected: it changes, and with it the whole point of the fault.
"""

import signal
from dataclasses import dataclass
from gettext import gettext as _

from chaos.faults import Quiet
from chaos.history import FaultPhase
from chaos.stage import Stage
from infra.kafka.topics import admin

_PATIENCE_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerFault(Quiet):
    """What these have in common: all brokers run again afterwards, with all their copies in step."""

    def heal(self, stage: Stage) -> None:
        stage.stack.servers_up(stage.say)
        stage.record(self.name, FaultPhase.HEAL, "kafka")

    def probe(self, stage: Stage) -> str | None:
        return None if stage.stack.servers_running() else _("not every broker is running")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoseController(BrokerFault):
    """Kill (SIGKILL) the node that leads the controllers: the others elect one, and then move its leaders."""

    def inject(self, stage: Stage) -> None:
        server = stage.stack.controller()
        pid = stage.stack.supervisor().pid(server) if server else None
        stage.record(self.name, FaultPhase.INJECT, server or "kafka", pid=pid)
        if server is None or pid is None:
            return
        stage.record(self.name, FaultPhase.HIT, server, pid=pid, detail="SIGKILL of the active controller")
        stage.signal(pid, signal.SIGKILL)
        stage.wait_until(lambda: stage.stack.supervisor().pid(server) not in (None, pid), _PATIENCE_SECONDS)
        stage.stack.servers_up(stage.say)


@dataclass(frozen=True, slots=True, kw_only=True)
class StopBrokers(BrokerFault):
    """Stop brokers and leave them down for a while: with fewer copies than a write needs, none is accepted."""

    servers: tuple[str, ...]
    seconds: float

    def inject(self, stage: Stage) -> None:
        supervisor = stage.stack.supervisor()
        for server in self.servers:
            with stage.evidence_of(self.name, server, detail=f"stopped for {self.seconds} s"):
                supervisor.stop_process(server)
        stage.wait(self.seconds)
        stage.stack.servers_up(stage.say)


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveLeaders(BrokerFault):
    """Restart a broker in good order, which gives its leaders away, and wait until it has them back, each round."""

    server: str
    rounds: int = 2
    topics: tuple[str, ...] = ("orders.events", "billing.events")

    def inject(self, stage: Stage) -> None:
        for _round in range(self.rounds):
            stage.wait_until(lambda: self._are_home(self._told(stage)), _PATIENCE_SECONDS)
            stage.record(self.name, FaultPhase.INJECT, self.server)
            self._restart(stage)
            if moved := sum(leader != home for leader, home in self._told(stage)):
                detail = f"{moved} partitions are led by another broker than before"
                stage.record(self.name, FaultPhase.HIT, self.server, detail=detail)
        stage.wait_until(lambda: self._are_home(self._told(stage)), _PATIENCE_SECONDS)

    def _restart(self, stage: Stage) -> None:
        supervisor = stage.stack.supervisor()
        supervisor.stop_process(self.server)
        supervisor.start_process(self.server)
        stage.stack.servers_up(stage.say)

    def _told(self, stage: Stage) -> list[tuple[int, int]]:
        """Return of each partition who leads it, and who should: Kafka gives it back within seconds of a return."""
        told = admin(stage.stack.servers.kafka).list_topics(timeout=5).topics
        names = map(stage.in_namespace, self.topics)
        return [(each.leader, each.replicas[0]) for name in names for each in told[name].partitions.values()]

    def _are_home(self, told: list[tuple[int, int]]) -> bool:
        return all(leader == home for leader, home in told)
