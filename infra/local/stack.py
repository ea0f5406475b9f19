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
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from infra.local import ports
from infra.local.deployment import Deployment
from infra.local.errors import PortTakenError, StackError
from infra.local.home import Home
from infra.local.kafka import Kafka, Node, most_named, node_name
from infra.local.memory import memory_bytes
from infra.local.ports import HOST
from infra.local.postgres import SUPERUSER, Postgres
from infra.local.postgres_settings import NAMES
from infra.local.profile import Profile
from infra.local.redis import Redis
from infra.local.server import Address, Report, Server, wait_until_ready
from infra.local.services import MAIN, Program
from infra.local.supervisor import Running, Supervisor

PORT_NAMES = ("supervisor", "postgres", "kafka", "kafka-controller", "redis", "kafka-far", "kafka-near")
"""The last two: Kafka's second way in, for clients that come through a proxy (``infra.local.kafka``)."""
CLUSTER_PORT_NAMES = ("kafka-2", "kafka-controller-2", "kafka-3", "kafka-controller-3", "postgres-2")
_CLUSTER_OFFSET = 100
"""Where they lie in a home's block: behind the main deployment's."""
_READY_WITHIN_SECONDS = 90


@dataclass(frozen=True, slots=True)
class Servers:
    postgres: Address
    kafka: str
    redis: Address
    standby: Address | None = None
    """The other server of a pair; which of the two is the primary changes."""

    def database_url(self, user: str, database: str, *, scheme: str = "postgresql") -> str:
        """Return the address of a database; of a pair, that of whichever takes writes at the time of connecting."""
        if self.standby is None:
            return f"{scheme}://{user}@{self.postgres}/{database}"
        pair = (self.postgres, self.standby)
        hosts, numbers = ",".join(each.host for each in pair), ",".join(str(each.port) for each in pair)
        return f"{scheme}://{user}@/{database}?host={hosts}&port={numbers}&target_session_attrs=read-write"


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

    def further(self, name: str) -> "LocalStack":
        """Return another stack that belongs to this one: what this one is broken by does not touch it."""
        return LocalStack(self.home.further(name), self.environ)

    def all_further(self) -> list["LocalStack"]:
        return [LocalStack(home, self.environ) for home in self.home.all_further()]

    @property
    def servers(self) -> Servers:
        noted = self.ports()
        brokers = ",".join(each.bootstrap for each in self.brokers())
        standby = Address(HOST, noted["postgres-2"]) if self.profile is Profile.CLUSTER else None
        return Servers(Address(HOST, noted["postgres"]), brokers, Address(HOST, noted["redis"]), standby)

    @property
    def profile(self) -> Profile:
        """Return how many of each server there are, as it was chosen for this home."""
        try:
            noted = self._profile_note.read_text(encoding="ascii").strip()
            return Profile(noted)
        except FileNotFoundError:
            return Profile.SMALL
        except ValueError:
            known = ", ".join(Profile)
            raise StackError(f"{self._profile_note} names no profile. Write one of {known} into it.") from None

    def choose(self, profile: Profile) -> None:
        """Have this home in a profile from now on. Raises StackError when its data were made with another one."""
        if profile is self.profile:
            return
        data = [*(each.data for each in self.databases()), *(each.data for each in self.brokers())]
        if any(each.exists() for each in data):
            raise StackError(
                f"The data in {self.home.root} were made with the profile {self.profile}, and a log or database of one "
                f"profile is not one of another. Run `once reset --profile {profile}` to start it with empty data, "
                "or set ONCE_HOME to another folder."
            )
        self.home.create()
        self._profile_note.write_text(f"{profile}\n", encoding="ascii")

    def superuser_url(self, database: str) -> str:
        """Return PostgreSQL's address with the superuser's password, for tests, tools and the chaos observer."""
        return self.servers.database_url(f"{SUPERUSER}:{self.home.secret(SUPERUSER)}", database)

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
        return all(states.get(name) == "RUNNING" for name in self.server_names())

    def server_names(self) -> tuple[str, ...]:
        return tuple(server.name for server in self._servers())

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
        forced = ports.overrides(self._port_names(), self.environ)
        noted = self._noted()
        if missing := [name for name in PORT_NAMES if name not in noted and name not in forced]:
            # A home made before a port had its name keeps the others, and its servers keep running.
            known = set(missing) < set(PORT_NAMES) and "supervisor" in noted
            block = ports.next_in_block(noted, missing) if known else ports.free_block(PORT_NAMES, ports.HOMES)
            noted = self._note_ports({**noted, **block})
        if missing := [name for name in self._port_names() if name not in noted and name not in forced]:
            noted = self._note_ports({**noted, **_behind(min(noted.values()), missing)})
        return {**noted, **forced}

    def _note_ports(self, noted: dict[str, int]) -> dict[str, int]:
        self.home.create()
        ports.write_note(self._note, noted)
        return noted

    def _port_names(self) -> tuple[str, ...]:
        return PORT_NAMES if self.profile is Profile.SMALL else PORT_NAMES + CLUSTER_PORT_NAMES

    def supervisor(self) -> Supervisor:
        return Supervisor(self.home.servers, self.ports()["supervisor"], self.home.secret("supervisor"))

    def postgres(self) -> Postgres:
        """Return the first PostgreSQL server: the only one of the small profile."""
        return self.databases()[0]

    def databases(self) -> tuple[Postgres, ...]:
        noted = self.ports()
        if self.profile is Profile.SMALL:
            return (Postgres(self.home, noted["postgres"]),)
        pair = (noted["postgres"], noted["postgres-2"])
        return tuple(Postgres(self.home, port, number, sum(pair) - port) for number, port in enumerate(pair, start=1))

    def database_names(self) -> tuple[str, ...]:
        return NAMES if self.profile is Profile.CLUSTER else NAMES[:1]

    def kafka(self) -> Kafka:
        """Return the first broker: the only one of the small profile."""
        return self.brokers()[0]

    def broker_names(self) -> tuple[str, ...]:
        return tuple(node_name(number) for number in range(1, self.profile.brokers + 1))

    def brokers(self) -> tuple[Kafka, ...]:
        nodes = self._nodes()
        return tuple(Kafka(self.home, nodes, number) for number in range(1, len(nodes) + 1))

    def controller(self) -> str | None:
        """Return the name of the server that leads Kafka's controllers, or None while there is none."""
        return most_named([broker.controller() for broker in self.brokers()])

    def _nodes(self) -> list[Node]:
        noted = self.ports()
        if self.profile is Profile.SMALL:
            return [Node(noted["kafka"], noted["kafka-controller"], noted["kafka-far"], noted["kafka-near"])]
        further = range(2, self.profile.brokers + 1)
        first = Node(noted["kafka"], noted["kafka-controller"])
        return [first, *(Node(noted[node_name(each)], noted[f"kafka-controller-{each}"]) for each in further)]

    @property
    def base_port(self) -> int:
        """Return where this home's block of ports begins."""
        return min(self.ports().values())

    def _servers(self) -> tuple[Server, ...]:
        return (*self.databases(), *self.brokers(), Redis(self.home, self.ports()["redis"]))

    def _start_servers(self, report: Report) -> None:
        self.home.create()
        supervisor = self.supervisor()
        if not supervisor.is_running():
            supervisor.clear_away()
            self._claim_ports(report)
            supervisor = self.supervisor()
        # What runs is left alone: preparing a server clears away what was left of it, and would take it for that.
        running = {each.name for each in supervisor.processes() if each.pid is not None}
        copies = [database for database in self.databases() if database.is_to_be_copied]
        first = [server for server in self._servers() if server.name not in {copy.name for copy in copies}]
        for server in first:
            if server.name not in running:
                server.prepare(report)
        supervisor.start([server.task() for server in first])
        if copies:
            self._wait_for(first, report)
            for copy in copies:
                copy.prepare(report)
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
        self.ports()

    def _wait_until_ready(self, report: Report) -> None:
        self._wait_for(self._servers(), report)

    def _wait_for(self, servers: Iterable[Server], report: Report) -> None:
        supervisor = self.supervisor()
        for server in servers:
            report(f"Waiting until {server.title} answers")
            _wait(server, supervisor)

    def _noted(self) -> dict[str, int]:
        return ports.read_note(self._note)

    @property
    def _note(self) -> Path:
        return self.home.root / "ports.json"

    @property
    def _profile_note(self) -> Path:
        return self.home.root / "profile"


def _behind(base: int, names: list[str]) -> dict[str, int]:
    """Deal out ports in the home's own block, or in a later one where somebody holds them."""
    return ports.free_block(names, ports.Range(base, ports.HOMES.step, ports.HOMES.end), _CLUSTER_OFFSET)


def _wait(server: Server, supervisor: Supervisor) -> None:
    wait_until_ready(
        name=server.name,
        probe=server.probe,
        alive=lambda: supervisor.state(server.name) in {"STARTING", "RUNNING", "BACKOFF"},
        log=supervisor.log_file(server.name),
        deadline_seconds=_READY_WITHIN_SECONDS,
    )
