"""The local stack as one object: servers that are shared, and deployments (copies of our system) on top of them.

    stack = LocalStack.open()
    stack.servers_up(print)
    deployment = stack.deployment("main")
    deployment.prepare()
    deployment.start()

Invariant: every method may be called again, and by several processes at once (they wait for each other).
"""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from infra.local import ports
from infra.local.deployment import Deployment
from infra.local.errors import PortTakenError
from infra.local.home import Home
from infra.local.kafka import Kafka
from infra.local.memory import memory_bytes
from infra.local.ports import HOST
from infra.local.postgres import Postgres
from infra.local.redis import Redis
from infra.local.server import Address, Report, Server, wait_until_ready
from infra.local.services import MAIN, Program
from infra.local.supervisor import Running, Supervisor

PORT_NAMES = ("supervisor", "postgres", "kafka", "kafka-controller", "redis", "kafka-far", "kafka-near")
"""The last two: Kafka's second way in, for clients that come through a proxy (``infra.local.kafka``)."""
_READY_WITHIN_SECONDS = 90


@dataclass(frozen=True, slots=True)
class Servers:
    postgres: Address
    kafka: str
    redis: Address


def _silent(_line: str) -> None:
    """Report nothing."""


class LocalStack:
    is_local = True
    """Whether servers and processes are this machine's own: some faults need that."""

    def __init__(self, home: Home, environ: Mapping[str, str]) -> None:
        self.home = home
        self.environ = environ

    @classmethod
    def open(cls, environ: Mapping[str, str] | None = None) -> "LocalStack":
        """Open the stack whose home the environment names; starts nothing."""
        environ = os.environ if environ is None else environ
        return cls(Home.from_environment(environ), environ)

    @property
    def servers(self) -> Servers:
        noted = self.ports()
        return Servers(Address(HOST, noted["postgres"]), f"{HOST}:{noted['kafka']}", Address(HOST, noted["redis"]))

    def superuser_url(self, database: str) -> str:
        """Return PostgreSQL's address with the superuser's password, for tests, tools and the chaos observer."""
        return self.postgres().url(database)

    def redis_url(self, database: int) -> str:
        return f"redis://{self.servers.redis}/{database}"

    def servers_up(self, report: Report = _silent) -> None:
        """Start PostgreSQL, Kafka and Redis unless they run, and wait until each answers a real question."""
        if self.servers_running():
            self._wait_until_ready(_silent)
            return
        with self.home.locked():
            self._start_servers(report)

    def servers_down(self, report: Report = _silent) -> None:
        """End the servers; harmless when they do not run."""
        with self.home.locked():
            supervisor = self.supervisor()
            if supervisor.is_running():
                report("Stopping Redis, Kafka and PostgreSQL")
            supervisor.stop()

    def servers_running(self) -> bool:
        states = {each.name: each.state for each in self.server_processes()}
        return all(states.get(name) == "RUNNING" for name in ("postgres", "kafka", "redis"))

    def server_processes(self) -> list[Running]:
        return self.supervisor().processes() if self._noted() else []

    def memory_bytes(self, process: Running) -> int:
        return memory_bytes(process.pid)

    def deployment(
        self, namespace: str = MAIN, directory: Path | None = None, programs: Mapping[str, Program] | None = None
    ) -> Deployment:
        """Return a copy of the system on these servers; starts nothing."""
        default = self.home.main if namespace == MAIN else self.home.runs / namespace
        return Deployment(self, namespace, directory or default, programs, self.environ)

    def deployments(self) -> list[Deployment]:
        """Return the main deployment and those of runs that left their notes."""
        runs = [self.deployment(path.parent.name) for path in sorted(self.home.runs.glob("*/ports.json"))]
        return [self.deployment(), *runs]

    def destroy(self, report: Report = _silent) -> None:
        """End everything at once and delete all data and logs; ports and secrets stay as they are."""
        report("Ending all processes")
        for deployment in self.deployments():
            deployment.kill()
        with self.home.locked():
            self.supervisor().kill()
            report("Deleting databases, topics and queues")
            for server in self._servers():
                server.destroy()
            for folder in (self.home.main, self.home.runs, self.home.servers):
                shutil.rmtree(folder, ignore_errors=True)

    def ports(self) -> dict[str, int]:
        """Return the servers' ports: noted ones, with what the environment dictates laid over."""
        forced = ports.overrides(PORT_NAMES, self.environ)
        noted = self._noted()
        if missing := [name for name in PORT_NAMES if name not in noted and name not in forced]:
            # A home made before a port had its name keeps the others, and its servers keep running.
            known = set(missing) < set(PORT_NAMES) and "supervisor" in noted
            block = ports.next_in_block(noted, missing) if known else ports.free_block(PORT_NAMES, ports.HOMES)
            noted = {**noted, **block}
            self.home.create()
            ports.write_note(self._note, noted)
        return {**noted, **forced}

    def supervisor(self) -> Supervisor:
        return Supervisor(self.home.servers, self.ports()["supervisor"], self.home.secret("supervisor"))

    def postgres(self) -> Postgres:
        return self._servers()[0]

    def kafka(self) -> Kafka:
        return self._servers()[1]

    @property
    def base_port(self) -> int:
        """Return where this home's block of ports begins."""
        return min(self.ports().values())

    def _servers(self) -> tuple[Postgres, Kafka, Redis]:
        noted = self.ports()
        return (
            Postgres(self.home, noted["postgres"]),
            Kafka(self.home, noted["kafka"], noted["kafka-controller"], noted["kafka-far"], noted["kafka-near"]),
            Redis(self.home, noted["redis"]),
        )

    def _start_servers(self, report: Report) -> None:
        self.home.create()
        supervisor = self.supervisor()
        if not supervisor.is_running():
            supervisor.clear_away()
            self._claim_ports(report)
            supervisor = self.supervisor()
        # What runs is left alone: preparing a server clears away what was left of it, and would take it for that.
        running = {each.name for each in supervisor.processes() if each.pid is not None}
        for server in self._servers():
            if server.name not in running:
                server.prepare(report)
        supervisor.start([server.task() for server in self._servers()])
        self._wait_until_ready(report)

    def _claim_ports(self, report: Report) -> None:
        """Make sure that our ports are ours; move the stack to other ports when somebody took one meanwhile."""
        current = self.ports()
        taken = {name: port for name, port in current.items() if not ports.is_free(port)}
        if not taken:
            return
        name, port = next(iter(taken.items()))
        if ports.overrides(taken, self.environ):
            raise PortTakenError(
                f"Port {port} for {name} is held by {ports.holder(port)}. Stop that process, "
                f"or give {ports.variable(name)} another number."
            )
        report(f"Port {port} for {name} is held by {ports.holder(port)}: this stack moves to other ports")
        ports.write_note(self._note, ports.free_block(PORT_NAMES, ports.HOMES))

    def _wait_until_ready(self, report: Report) -> None:
        supervisor = self.supervisor()
        for server in self._servers():
            report(f"Waiting until {server.title} answers")
            _wait(server, supervisor)

    def _noted(self) -> dict[str, int]:
        return ports.read_note(self._note)

    @property
    def _note(self) -> Path:
        return self.home.root / "ports.json"


def _wait(server: Server, supervisor: Supervisor) -> None:
    wait_until_ready(
        name=server.name,
        probe=server.probe,
        alive=lambda: supervisor.state(server.name) in {"STARTING", "RUNNING", "BACKOFF"},
        log=supervisor.log_file(server.name),
        deadline_seconds=_READY_WITHIN_SECONDS,
    )
