"""The whole machine stands still: every process, servers too, stops and goes on in an order that the seed decides."""

import signal
from dataclasses import dataclass
from random import Random

from chaos.faults import Quiet, missing
from chaos.faults.server import Server, family
from chaos.history import FaultPhase
from chaos.stage import Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class EverythingStands(Quiet):
    """SIGSTOP everybody, SIGCONT one after the other. Leases, sessions and time-outs run out while nobody looks."""

    seconds: float = 20.0
    between_seconds: float = 0.2

    @property
    def local_only(self) -> bool:
        return True

    def inject(self, stage: Stage) -> None:
        everybody = self._everybody(stage)
        stage.record(self.name, FaultPhase.INJECT, f"{len(everybody)} processes")
        stage.record(self.name, FaultPhase.HIT, f"{len(everybody)} processes", detail=f"SIGSTOP for {self.seconds} s")
        try:
            for pids in everybody.values():
                _send(stage, pids, signal.SIGSTOP)
            stage.wait(self.seconds)
        finally:
            order = list(everybody)
            Random(f"{stage.seed}/{self.name}").shuffle(order)  # noqa: S311 - a plan, not a secret
            for name in order:
                _send(stage, everybody[name], signal.SIGCONT)
                stage.wait(self.between_seconds)

    def heal(self, stage: Stage) -> None:
        for pids in self._everybody(stage).values():
            _send(stage, pids, signal.SIGCONT)
        stage.record(self.name, FaultPhase.HEAL, "everybody")

    def probe(self, stage: Stage) -> str | None:
        return missing(stage, tuple(each.name for each in stage.deployment.programs.values() if each.autostart))

    def _everybody(self, stage: Stage) -> dict[str, list[int]]:
        services = {each.name: each.pid for each in stage.deployment.processes()}
        servers = {server.value: stage.stack.supervisor().pid(server.value) for server in Server}
        return {name: family(pid) for name, pid in {**services, **servers}.items() if pid is not None}


def _send(stage: Stage, pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        stage.signal(pid, number)
