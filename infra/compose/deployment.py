"""A deployment on containers. The main one is what docker-compose.yml describes; a run's containers are made here.

Invariant: as on the local stack, everything carries the namespace. The parts that concern databases, topics and groups
are the local stack's own code.
"""

from collections.abc import Mapping
from pathlib import Path
from signal import Signals
from types import MappingProxyType
from typing import TYPE_CHECKING

from infra.compose.containers import Containers, RunContainers, ServiceContainers, host_name
from infra.local import ports
from infra.local.deployment import Deployment, ProcessStatus
from infra.local.server import Report
from infra.local.services import MAIN, Program

if TYPE_CHECKING:
    from infra.compose.stack import ComposeStack

PORTS = {"http": 8080, "smtp": 8025, "metrics": 9100, "connect": 8083}
"""A container has an address of its own, so every process may have the same ports."""


class ComposeDeployment(Deployment):
    listen_on = "0.0.0.0"  # noqa: S104  # a container's own network; what is published is said in docker-compose.yml

    def __init__(
        self, stack: "ComposeStack", namespace: str, directory: Path, table: dict[str, Program] | None
    ) -> None:
        super().__init__(stack, namespace, directory, table, stack.environ)
        self._compose = stack
        self._containers = self._our_containers()

    @property
    def mail_journal(self) -> Path:
        return Path("/var/lib/once/mail/mail.jsonl") if self.namespace == MAIN else self.directory / "mail.jsonl"

    def host(self, name: str) -> str:
        return name if self.namespace == MAIN else host_name(self.namespace, name)

    def address(self, name: str) -> str:
        published = self._containers.port(name)
        return f"http://{published}" if published else ""

    def send_signal(self, pid: int, number: Signals) -> bool:
        """Send a signal to everything in the container whose main process has this number."""
        for containers in (self._containers, self._compose.containers()):
            if (identity := containers.by_pid(pid)) is not None:
                containers.signal(identity, number)
                return True
        return False

    def begin_anew(self, name: str) -> None:
        """End a web server: a container's code is its image, which no process in it can change."""
        self._containers.stop_process(name)

    def memory_bytes(self, process: ProcessStatus) -> int:
        return self._containers.memory_bytes(process.name)

    def _our_containers(self) -> Containers:
        found = self._compose.surroundings
        if self.namespace != MAIN:
            return RunContainers(self._compose.engine, found, self.namespace, self.directory)
        return ServiceContainers(self._compose.engine, found.project, self.programs, self.directory)

    def _supervisor(self) -> Containers:  # type: ignore[override]  # the same verbs, on containers
        return self._containers

    def _deal_out(self, names: list[str], kept: Mapping[str, int] = MappingProxyType({})) -> dict[str, int]:  # noqa: ARG002
        dealt = {name: PORTS[self.programs[name].listens] if name in self.programs else 0 for name in names}
        ports.write_note(self._note, dealt)
        return dealt

    def _noted(self) -> dict[str, int]:
        # What compose has made needs no note.
        return self._deal_out(["supervisor", *self.programs]) if self.namespace == MAIN else super()._noted()

    def _claim_ports(self, report: Report) -> None:
        """Nobody else is on a container's address."""
