"""A deployment: one copy of our system (databases, topics, processes) on the servers of a local stack.

Invariant: everything a deployment makes carries its namespace, so that copies side by side do not meet, and
``destroy`` removes all of it.
"""

import json
import os
import shutil
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from signal import Signals
from smtplib import SMTP
from types import MappingProxyType
from typing import TYPE_CHECKING
from zlib import crc32

import psutil
import psycopg
from confluent_kafka import ConsumerGroupState
from psycopg import sql
from redis import Redis

from infra.cdc import slot
from infra.cdc.connect import connectors
from infra.kafka.topics import admin, delete_topics, ensure_topics
from infra.local import ports, templates
from infra.local.errors import NotReadyError, StackError
from infra.local.home import PROJECT
from infra.local.memory import memory_bytes
from infra.local.ports import HOST
from infra.local.server import Report, wait_until_ready
from infra.local.services import (
    DATABASES,
    ENGINES,
    MAIN,
    OUTBOXES,
    TOPICS,
    Engine,
    Program,
    database_name,
    in_namespace,
    programs,
    relay_queue,
)
from infra.local.supervisor import Supervisor, Task
from infra.migrate import migrate
from infra.postgres.roles import all_roles, ensure_database, ensure_functions, ensure_roles, owner

if TYPE_CHECKING:
    from infra.local.stack import LocalStack

_READY_WITHIN_SECONDS = 120
PASSED_ON = (
    "RELAY_",
    "CONSUMER_",
    "MAIL_OVERDUE_",
    "MAIL_CHECK_",
    "MAIL_REMINDERS",
    "DEDUP_WINDOW_",
    "LONGEST_REPLAY_",
    "OUTBOX_KEPT_",
    "DISCARDED_KEPT_",
    "HTTP_WORKERS",
    "GROUP_PROTOCOL",
    "LOG_LEVEL",
    "BATCH_SIZE",
    "MAIL_FROM",
    "OTEL_",
)


@dataclass(frozen=True, slots=True)
class ProcessStatus:
    name: str
    pid: int | None
    state: str
    since: datetime | None
    restarts: int
    port: int
    """Where it serves HTTP, SMTP or metrics."""


def _silent(_line: str) -> None:
    """Report nothing."""


class Deployment:
    listen_on = HOST
    """The address that processes listen on."""

    def __init__(
        self,
        stack: "LocalStack",
        namespace: str,
        directory: Path,
        table: Mapping[str, Program] | None,
        environ: Mapping[str, str],
    ) -> None:
        self.namespace = namespace
        self.directory = directory
        self._stack = stack
        self.programs = dict(self.table(self.engine) if table is None else table)
        self._environ = environ

    def table(self, engine: Engine) -> dict[str, Program]:
        """Return the processes that run under an engine, as many as this stack's profile has."""
        return programs(self.namespace, engine, self._stack.profile)

    @property
    def has_standby(self) -> bool:
        return self._stack.servers.standby is not None

    @property
    def engine(self) -> Engine:
        """Return what publishes events here, as it was last chosen."""
        try:
            noted = self._engine_note.read_text(encoding="ascii").strip()
        except FileNotFoundError:
            noted = ""
        return next((engine for engine in ENGINES if engine == noted), "polling")

    def note_engine(self, engine: Engine) -> None:
        """Remember the engine for the next start. Changes nothing that runs."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self._engine_note.write_text(f"{engine}\n", encoding="ascii")

    @property
    def mail_journal(self) -> Path:
        return self.directory / "mail.jsonl"

    @property
    def topics(self) -> dict[str, str]:
        """Return variable → topic."""
        return {variable: in_namespace(name, self.namespace) for variable, name in TOPICS.items()}

    @property
    def groups(self) -> dict[str, str]:
        """Return service → consumer group."""
        found = {program.group for program in self.programs.values() if program.group}
        return {group: in_namespace(group, self.namespace) for group in sorted(found)}

    @property
    def redis_database(self) -> int:
        return 0 if self.namespace == MAIN else crc32(self.namespace.encode()) % 15 + 1

    @property
    def celery_queue(self) -> str:
        return "notifications" if self.namespace == MAIN else f"{self.namespace}.notifications"

    def _housekeeping_queues(self) -> list[str]:
        found = (each.environment.get("HOUSEKEEPING_QUEUE") for each in self.programs.values())
        return [queue for queue in found if queue]

    def _relay_queues(self) -> list[str]:
        return [relay_queue(source, self.namespace) for source in OUTBOXES]

    def slot(self, kind: str) -> str:
        """Name the replication slot of an outbox. Slots belong to the server, not to a database."""
        return f"cdc_{self.database(kind)}"

    def heartbeat_topic(self, kind: str) -> str:
        """Name the topic of the heartbeats of an outbox's connector."""
        return in_namespace(f"cdc.{kind}", self.namespace)

    def database(self, kind: str) -> str:
        """Name this deployment's database of a kind (``orders``, ``billing``, ...)."""
        return database_name(kind, self.namespace)

    def superuser_url(self, kind: str) -> str:
        return self._stack.superuser_url(self.database(kind))

    def prepare(self, report: Report = _silent) -> None:
        """Make databases, roles, grants, schemas and topics. May be repeated; the servers must be up."""
        report("Making databases, roles, schemas and grants")
        with self._one_at_a_time() as connection:
            ensure_roles(connection, {role: self._stack.home.secret(role) for role in all_roles()})
            fresh = templates.missing(connection, {kind: self.database(kind) for kind in DATABASES})
            copied = {kind for kind in fresh if self.namespace != MAIN and templates.copy(connection, *fresh[kind])}
            for kind in DATABASES:
                ensure_database(connection, self.database(kind), kind)
        for kind in [kind for kind in DATABASES if kind not in copied]:
            self._migrate(kind)
        if self.namespace != MAIN and (made := fresh.keys() - copied):
            with self._one_at_a_time() as connection:
                for kind in sorted(made):
                    templates.keep(connection, self.database(kind), kind)
        report("Making topics")
        profile = self._stack.profile
        names = self.topics.values()
        ensure_topics(self._stack.servers.kafka, names, replication=profile.brokers, min_insync=profile.min_insync)

    @contextmanager
    def _one_at_a_time(self) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
        """A superuser's connection: roles and templates are the whole server's, and two must not write them at once."""
        with psycopg.connect(self._stack.superuser_url("postgres"), autocommit=True) as connection:
            connection.execute("SELECT pg_advisory_lock(20260101)")
            yield connection

    def _migrate(self, kind: str) -> None:
        with psycopg.connect(self.superuser_url(kind), autocommit=True) as connection:
            ensure_functions(connection, kind)
        role = owner(kind)
        migrate(kind, self._url(kind, role), str(self._stack.home.secret_file(role)))

    def start(self, report: Report = _silent) -> None:
        """Start the processes and wait until each can do its work; those that run are not touched."""
        self._keep_running(report)
        self.wait_until_ready(report)

    def change(self, table: Mapping[str, Program], report: Report = _silent) -> None:
        """Run these processes from now on, and wait for those alone that are new or not as before."""
        changed = [program for program in table.values() if program != self.programs.get(program.name)]
        self.programs = dict(table)
        self._keep_running(report)
        for program in changed:
            if program.autostart:
                report(f"Waiting until {program.name} can work")
                self._wait(program, self._supervisor())

    def _keep_running(self, report: Report) -> None:
        with self._stack.home.locked():
            self._claim_ports(report)
            self._supervisor().start([self._task(program) for program in self.programs.values()])

    def stop(self) -> None:
        """Let every process finish its work in hand and end; harmless when nothing runs."""
        if self._noted():
            self._supervisor().stop()

    def kill(self) -> None:
        """End every process at once, for data that are deleted next; harmless when nothing runs."""
        if self._noted():
            self._supervisor().kill()

    def destroy(self) -> None:
        """Stop, and remove databases, topics, groups, the queue and the notes. Logs and evidence stay."""
        self.stop()
        for kind in OUTBOXES:
            slot.drop(self._stack.superuser_url("postgres"), self.slot(kind))
        with psycopg.connect(self._stack.superuser_url("postgres"), autocommit=True) as connection:
            for kind in DATABASES:
                statement = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
                connection.execute(statement.format(sql.Identifier(self.database(kind))))
        delete_topics(self._stack.servers.kafka, [*self.topics.values(), *map(self.heartbeat_topic, OUTBOXES)])
        self._delete_groups()
        self._delete_queue()
        self._note.unlink(missing_ok=True)
        self._engine_note.unlink(missing_ok=True)

    def wait_until_ready(self, report: Report = _silent) -> None:
        """Wait until every process that starts by itself can do its work."""
        supervisor = self._supervisor()
        programs = self._autostarted()
        report(f"Waiting until {len(programs)} processes can work")
        for program in programs:
            self._wait(program, supervisor)
        report("Waiting until each consumer group has its members")
        for group, members in self._expected_members().items():
            self._wait_for_group(group, members)

    def start_process(self, name: str) -> None:
        self._supervisor().start_process(name)

    def stop_process(self, name: str) -> None:
        """Ask one process to finish its work in hand, and wait for its end. It stays down until started."""
        self._supervisor().stop_process(name)

    def renew_process(self, name: str) -> None:
        """Have a process run the code that is here now, and wait until it works. One with HTTP keeps its port open."""
        program, supervisor = self.programs[name], self._supervisor()
        if program.listens == "http":
            self._begin_anew(name)
        else:
            supervisor.stop_process(name)
        supervisor.start_process(name)
        self._wait(program, supervisor)
        if program.group:
            group = in_namespace(program.group, self.namespace)
            self._wait_for_group(group, self._expected_members()[group])

    def _begin_anew(self, name: str) -> None:
        """Ask a web server to replace itself; when its workers are others than before, the new code serves."""
        pid = self.pid(name)
        if pid is None:
            return
        before = _children(pid)
        self.send_signal(pid, Signals.SIGHUP)

        def others() -> None:
            now = _children(pid)
            if not now or now & before:
                raise NotReadyError(f"{name} has not begun anew")

        wait_until_ready(
            name=name,
            probe=others,
            alive=lambda: self.pid(name) == pid,
            log=self.log_file(name),
            deadline_seconds=_READY_WITHIN_SECONDS,
        )

    def pid(self, name: str) -> int | None:
        return self._supervisor().pid(name)

    def processes(self) -> list[ProcessStatus]:
        """Return the processes with their state, or nothing when the deployment is down."""
        noted = self._noted()
        if not noted:
            return []
        found = self._supervisor().processes()
        return [
            ProcessStatus(each.name, each.pid, each.state, each.since, each.restarts, noted.get(each.name, 0))
            for each in found
        ]

    def is_up(self) -> bool:
        return bool(self._noted()) and self._supervisor().is_running()

    def supervisor(self) -> Supervisor:
        """Return the supervisor, for its history of starts and ends."""
        return self._supervisor()

    def url(self, name: str) -> str:
        """Return where a process serves HTTP (for one without an API: its metrics)."""
        return f"http://{self.host(name)}:{self.ports()[name]}"

    def address(self, name: str) -> str:
        """Return where a person at this machine reaches a process; empty when there is no way in."""
        scheme = "smtp" if self.programs[name].listens == "smtp" else "http"
        return f"{scheme}://{HOST}:{self.ports()[name]}"

    def host(self, _name: str) -> str:
        """Return where a process runs."""
        return HOST

    def memory_bytes(self, process: ProcessStatus) -> int:
        return memory_bytes(process.pid)

    def send_signal(self, pid: int, number: Signals) -> bool:
        """Send a signal to a process of this stack, a server's too; says whether it was still there."""
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return False
        return True

    def log_file(self, name: str) -> Path:
        return self._supervisor().log_file(name)

    def environment(self, name: str) -> dict[str, str]:
        """Return the environment that a process gets."""
        program = self.programs[name]
        servers = {**self._common(), **self._database_of(program), **self._sources_of(program)}
        return {
            **dict(self._tuning()),
            **{variable: _by_another_way(value, program.through) for variable, value in servers.items()},
            **self._listening(program),
            **({"CONSUMER_GROUP": in_namespace(program.group, self.namespace)} if program.group else {}),
            "INSTANCE": name,
            **program.environment,
        }

    def environment_of(self, kind: str, role: str) -> dict[str, str]:
        """Return the environment of a program that works as some role in one of our databases, and then ends."""
        return {
            **self._environ,
            "PYTHONPATH": str(PROJECT),
            "DATABASE_URL": self._url(kind, role),
            "DATABASE_PASSWORD_FILE": str(self._stack.home.secret_file(role)),
        }

    def ports(self) -> dict[str, int]:
        """Return the ports by process, dealt out at first use."""
        names = ["supervisor", *self.programs]
        forced = ports.overrides(self.programs, self._environ) if self.namespace == MAIN else {}
        noted = self._noted()
        missing = [name for name in names if name not in noted]
        if missing:
            noted = self._deal_out(missing, noted)
        return {**noted, **forced}

    def _deal_out(self, names: list[str], kept: Mapping[str, int] = MappingProxyType({})) -> dict[str, int]:
        """Find ports for these processes, behind those that others keep."""
        if self.namespace == MAIN:
            first = ports.Range(self._stack.base_port, ports.HOMES.step, ports.HOMES.end)
            dealt = ports.free_block(names, first, ports.MAIN_OFFSET + len(kept))
        else:
            dealt = ports.free_block(names, ports.RUNS, len(kept))
        ports.write_note(self._note, {**kept, **dealt})
        return {**kept, **dealt}

    def _claim_ports(self, report: Report) -> None:
        """Deal out other ports when somebody took one of ours while we were down."""
        if self.is_up():
            return
        self._supervisor().clear_away()
        taken = [(name, port) for name, port in self.ports().items() if not ports.is_free(port)]
        if not taken:
            return
        name, port = taken[0]
        if ports.overrides([name], self._environ):
            raise StackError(
                f"Port {port} for {name} is held by {ports.holder(port)}. Stop that process, "
                f"or give {ports.variable(name)} another number."
            )
        report(f"Port {port} for {name} is held by {ports.holder(port)}: {self.namespace} moves to other ports")
        self._deal_out(["supervisor", *self.programs])

    def _task(self, program: Program) -> Task:
        self.directory.mkdir(parents=True, exist_ok=True)
        return Task(
            name=program.name,
            argv=program.argv,
            environment=self.environment(program.name),
            directory=self.directory,
            autostart=program.autostart,
            autorestart=program.autorestart,
            # A run's logs are evidence.
            log_limit_bytes=20_000_000 if self.namespace == MAIN else 0,
        )

    def _supervisor(self) -> Supervisor:
        return Supervisor(self.directory, self.ports()["supervisor"], self._stack.home.secret("supervisor"))

    def _common(self) -> dict[str, str]:
        return {
            "KAFKA_BOOTSTRAP_SERVERS": self._stack.servers.kafka,
            "REDIS_URL": self._stack.redis_url(self.redis_database),
            "CELERY_QUEUE": self.celery_queue,
            **self.topics,
            "SMTP_HOST": self._host_of_sink(),
            "SMTP_PORT": str(self._port_of_sink()),
            "MAIL_JOURNAL": str(self.mail_journal),
            "ADMIN_TOKEN_FILE": str(self._stack.home.secret_file("admin-token")),
            # The project's own code, also where the environment belongs to another checkout.
            "PYTHONPATH": str(PROJECT),
        }

    def _database_of(self, program: Program) -> dict[str, str]:
        if program.database is None or program.role is None:
            return {}
        return {
            "DATABASE_URL": self._url(program.database, program.role),
            "DATABASE_PASSWORD_FILE": str(self._stack.home.secret_file(program.role)),
        }

    def _sources_of(self, program: Program) -> dict[str, str]:
        """Say where a connector reads and writes: an address, a slot and a topic for each outbox."""
        found = {"CDC_SOURCES": ",".join(program.sources)} if program.sources else {}
        for kind in program.sources:
            name = kind.upper()
            found |= {
                f"{name}_DATABASE_URL": self._url(kind, f"{kind}_cdc"),
                f"{name}_PASSWORD_FILE": str(self._stack.home.secret_file(f"{kind}_cdc")),
                f"{name}_SLOT": self.slot(kind),
                f"{name}_HEARTBEAT_TOPIC": self.heartbeat_topic(kind),
            }
        return found

    def _listening(self, program: Program) -> dict[str, str]:
        port = str(self.ports()[program.name])
        if program.listens == "connect":
            return {"HTTP_PORT": port}
        if program.listens == "http":
            folder = self.directory / "metrics" / program.name
            folder.mkdir(parents=True, exist_ok=True)
            return {"HTTP_HOST": self.listen_on, "HTTP_PORT": port, "PROMETHEUS_MULTIPROC_DIR": str(folder)}
        if program.listens == "smtp":
            return {"SMTP_HOST": self.listen_on, "SMTP_PORT": port}
        return {"METRICS_HOST": self.listen_on, "METRICS_PORT": port}

    def _tuning(self) -> Iterator[tuple[str, str]]:
        """Pass on what a person may tune by the environment."""
        return ((name, value) for name, value in self._environ.items() if name.startswith(PASSED_ON))

    def _url(self, kind: str, role: str) -> str:
        return self._stack.servers.database_url(role, self.database(kind), scheme="postgresql+psycopg")

    def _port_of_sink(self) -> int:
        return next((self.ports()[each.name] for each in self.programs.values() if each.listens == "smtp"), 0)

    def _host_of_sink(self) -> str:
        return next((self.host(each.name) for each in self.programs.values() if each.listens == "smtp"), HOST)

    def _autostarted(self) -> list[Program]:
        return [program for program in self.programs.values() if program.autostart]

    def _expected_members(self) -> dict[str, int]:
        groups = [in_namespace(each.group, self.namespace) for each in self._autostarted() if each.group]
        return {group: groups.count(group) for group in dict.fromkeys(groups)}

    def _wait(self, program: Program, supervisor: Supervisor) -> None:
        host, port = self.host(program.name), self.ports()[program.name]
        probes = {"http": _ask_ready, "smtp": _ask_smtp, "metrics": _ask_metrics, "connect": _ask_connect}
        wait_until_ready(
            name=program.name,
            probe=lambda: probes[program.listens](host, port),
            alive=lambda: supervisor.state(program.name) not in {"FATAL", "STOPPED"},
            log=supervisor.log_file(program.name),
            deadline_seconds=_READY_WITHIN_SECONDS,
        )

    def _wait_for_group(self, group: str, members: int) -> None:
        client = admin(self._stack.servers.kafka)

        def probe() -> None:
            found = client.describe_consumer_groups([group], request_timeout=5)[group].result()
            if found.state != ConsumerGroupState.STABLE or len(found.members) < members:
                raise NotReadyError(f"group {group} has {len(found.members)} of {members} members")

        wait_until_ready(
            name=f"consumer group {group}",
            probe=probe,
            alive=lambda: True,
            log=self.directory / "logs",
            deadline_seconds=_READY_WITHIN_SECONDS,
        )

    def _delete_groups(self) -> None:
        if not self.groups:
            return
        client = admin(self._stack.servers.kafka)  # held until the answers are in: they come through its thread
        for answer in client.delete_consumer_groups(list(self.groups.values())).values():
            answer.exception()  # a group that never was, or is already gone, is as good as deleted

    def _delete_queue(self) -> None:
        with closing(Redis.from_url(self._stack.redis_url(self.redis_database))) as client:
            client.delete(self.celery_queue, *self._housekeeping_queues(), *self._relay_queues())

    def _noted(self) -> dict[str, int]:
        return ports.read_note(self._note)

    @property
    def _note(self) -> Path:
        return self.directory / "ports.json"

    @property
    def _engine_note(self) -> Path:
        return self.directory / "engine"


def _children(pid: int) -> set[int]:
    try:
        return {child.pid for child in psutil.Process(pid).children()}
    except psutil.NoSuchProcess:
        return set()


def _by_another_way(value: str, through: Mapping[str, str]) -> str:
    for address, instead in through.items():
        value = value.replace(address, instead)
    return value


def remove_evidence(directory: Path) -> None:
    """Delete a run's folder."""
    shutil.rmtree(directory, ignore_errors=True)


def _ask_ready(host: str, port: int) -> None:
    try:
        with urllib.request.urlopen(f"http://{host}:{port}/readyz", timeout=5):
            return
    except urllib.error.HTTPError as error:
        raise NotReadyError(json.loads(error.read()).get("detail", f"HTTP {error.code}")) from error


def _ask_metrics(host: str, port: int) -> None:
    with urllib.request.urlopen(f"http://{host}:{port}/metrics", timeout=5):
        return


def _ask_connect(host: str, port: int) -> None:
    for each in connectors(f"{host}:{port}"):
        if each.state != "RUNNING":
            raise NotReadyError(f"connector {each.name} is {each.state.lower()}: {each.error}")


def _ask_smtp(host: str, port: int) -> None:
    with SMTP(host, port, timeout=5) as client:
        client.noop()
