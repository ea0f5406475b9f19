"""What happens to one or two of the brokers of a cluster. Killing or restarting a certain one is in ``server.py``.

Which broker leads is asked when the fault is injected: it changes, and with it the whole point of the fault.
"""

import signal
from collections.abc import Iterable
from dataclasses import dataclass
from gettext import gettext as _

from confluent_kafka import ElectionType, TopicPartition
from confluent_kafka.admin import ClusterMetadata  # type: ignore[attr-defined]

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
    """Restart a broker in good order, which gives its leaders away, and have them elected back, again each round."""

    server: str
    rounds: int = 2
    topics: tuple[str, ...] = ("orders.events", "billing.events")

    def inject(self, stage: Stage) -> None:
        for _round in range(self.rounds):
            self._restart(stage)
            moved = self._elect(stage)
            if moved:
                detail = f"{moved} partitions led by another broker than before"
                stage.record(self.name, FaultPhase.HIT, self.server, detail=detail)

    def _restart(self, stage: Stage) -> None:
        stage.record(self.name, FaultPhase.INJECT, self.server)
        supervisor = stage.stack.supervisor()
        supervisor.stop_process(self.server)
        supervisor.start_process(self.server)
        stage.stack.servers_up(stage.say)

    def _elect(self, stage: Stage) -> int:
        """Give every partition back to its preferred broker; return how many moved."""
        client = admin(stage.stack.servers.kafka)
        before = self._leaders(client.list_topics(timeout=5), stage)
        places = [TopicPartition(topic, number) for topic, number in before]
        client.elect_leaders(ElectionType.PREFERRED, places, request_timeout=10, operation_timeout=10).result()
        after = self._leaders(client.list_topics(timeout=5), stage)
        return sum(after[place] != leader for place, leader in before.items())

    def _leaders(self, told: ClusterMetadata, stage: Stage) -> dict[tuple[str, int], int]:
        names: Iterable[str] = map(stage.in_namespace, self.topics)
        return {
            (name, number): found.leader for name in names for number, found in told.topics[name].partitions.items()
        }
