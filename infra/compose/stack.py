"""The compose stack as one object, seen from inside: what ``infra.local.stack`` is for the local one.

The servers belong to docker-compose.yml. Here they are started again when they are down, waited for, and addressed by
the names that they have on the network.
"""

import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psycopg
from redis import Redis

from infra.compose.containers import Containers, ServiceContainers, surroundings
from infra.compose.deployment import ComposeDeployment
from infra.compose.engine import Engine
from infra.kafka.health import lacking
from infra.kafka.topics import admin
from infra.local.errors import NotReadyError, StackError
from infra.local.home import Home
from infra.local.kafka import leader_of, most_named
from infra.local.profile import Profile
from infra.local.server import Address, Report, wait_until_ready
from infra.local.services import MAIN, Program
from infra.local.stack import LocalStack, Servers
from infra.local.supervisor import Running

WORK = Path("/var/lib/once/work")
SECRETS = Path("/run/secrets")
QUORUM = "/var/lib/kafka/data/__cluster_metadata-0/quorum-state"
_READY_WITHIN_SECONDS = 90


@dataclass(frozen=True, slots=True)
class VolumeHome(Home):
    """The folder that runs and notes are in is a volume; secrets are another, which only the first start writes."""

    def create(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)

    def secret_file(self, name: str) -> Path:
        return SECRETS / name


def _silent(_line: str) -> None:
    """Report nothing."""


class ComposeStack(LocalStack):
    """Reached by ``infra.stack.open_stack``. What of the local stack is not overridden here works on both."""

    is_local = False

    def __init__(self, engine: Engine, environ: Mapping[str, str]) -> None:
        super().__init__(VolumeHome(WORK), environ)
        self.engine = engine
        self.surroundings = surroundings(engine, socket.gethostname())

    @classmethod
    def open(cls, environ: Mapping[str, str] | None = None) -> "ComposeStack":
        # Containers of a run write into the folders that we make for it, as another user.
        os.umask(0)
        return cls(Engine(), os.environ if environ is None else environ)

    @property
    def profile(self) -> Profile:
        return Profile(self.environ.get("ONCE_PROFILE") or Profile.SMALL)

    @property
    def servers(self) -> Servers:
        brokers = ",".join(f"{name}:19092" for name in self.broker_names())
        standby = Address("postgres-2", 5432) if self.profile is Profile.CLUSTER else None
        return Servers(Address("postgres", 5432), brokers, Address("redis", 6379), standby)

    def server_names(self) -> tuple[str, ...]:
        return (*self.database_names(), *self.broker_names(), "redis")

    def superuser_url(self, database: str) -> str:
        return self.servers.database_url(f"postgres:{self.home.secret('postgres')}", database)

    def servers_up(self, report: Report = _silent) -> None:
        for name in self.server_names():
            if self.containers().pid(name) is None:
                report(f"Starting {name}")
                self.containers().start_process(name)
        for name, probe in self._probes().items():
            wait_until_ready(
                name=name,
                probe=probe,
                alive=lambda: True,
                log=f"`docker compose logs {name}`",
                deadline_seconds=_READY_WITHIN_SECONDS,
            )

    def servers_down(self, report: Report = _silent) -> None:
        report("Stopping Redis, Kafka and PostgreSQL")
        self.containers().stop()

    def destroy(self, report: Report = _silent) -> None:  # noqa: ARG002  # the local stack's signature
        raise StackError(
            "Data in volumes are deleted from outside, after the containers that use them: "
            "`docker compose down --volumes`, then `docker compose up`."
        )

    def server_processes(self) -> list[Running]:
        return self.containers().processes()

    def memory_bytes(self, process: Running) -> int:
        return self.containers().memory_bytes(process.name)

    def deployment(
        self, namespace: str = MAIN, directory: Path | None = None, programs: Mapping[str, Program] | None = None
    ) -> ComposeDeployment:
        default = self.home.main if namespace == MAIN else self.home.runs / namespace
        return ComposeDeployment(self, namespace, directory or default, None if programs is None else dict(programs))

    def containers(self) -> Containers:
        """Return the servers' containers."""
        return ServiceContainers(self.engine, self.surroundings.project, self.server_names(), self.home.servers)

    def controller(self) -> str | None:
        told = [self._told_controller(name) for name in self.broker_names()]
        return most_named(told)

    def _told_controller(self, name: str) -> int | None:
        return leader_of(self.containers().read(name, QUORUM))

    def supervisor(self) -> Containers:  # type: ignore[override]  # the same verbs, on containers
        return self.containers()

    def _probes(self) -> dict[str, Callable[[], None]]:
        brokers = {name: partial(self._ask_kafka, number) for number, name in enumerate(self.broker_names(), start=1)}
        return {"postgres": self._ask_postgres, **brokers, "redis": self._ask_redis}

    def _ask_postgres(self) -> None:
        with psycopg.connect(self.superuser_url("postgres"), connect_timeout=2) as connection:
            connection.execute("SELECT pg_is_in_recovery()")

    def _ask_kafka(self, number: int) -> None:
        if where := lacking(admin(self.servers.kafka).list_topics(timeout=3), number):
            raise NotReadyError(where)

    def _ask_redis(self) -> None:
        with Redis.from_url(self.redis_url(0), socket_timeout=2) as client:
            client.ping()
