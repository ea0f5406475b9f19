"""A deployment: one copy of our system (databases, topics, processes) on the servers of a local stack.

Invariant: everything a deployment makes carries its namespace, so that copies side by side do not meet, and
``destroy`` removes all of it.
"""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from signal import Signals
from types import MappingProxyType
from typing import TYPE_CHECKING

import psutil

from infra.kafka.topics import admin
from infra.local import belongings, environment, ports
from infra.local.errors import NotReadyError, StackError
from infra.local.home import PROJECT
from infra.local.memory import memory_bytes
from infra.local.names import Names
from infra.local.ports import HOST
from infra.local.readiness import PROBES, READY_WITHIN_SECONDS, ask_group
from infra.local.renewal import renew
from infra.local.server import Report, wait_until_ready
from infra.local.services import (
    ENGINES,
    MAIN,
    Engine,
    Program,
    in_namespace,
    programs,
)
from infra.local.supervisor import Supervisor, Task

if TYPE_CHECKING:
    from infra.local.stack import LocalStack


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


class Deployment(Names):
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
        super().__init__(namespace)
        self.directory = directory
        self._stack = stack
        self._environ = environ
        self.programs = dict(self.table(self.engine) if table is None else table)

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

    def superuser_url(self, kind: str) -> str:
        return self._stack.superuser_url(self.database(kind))

    def prepare(self, report: Report = _silent) -> None:
        """Make databases, roles, grants, schemas and topics. May be repeated; the servers must be up."""
        belongings.make(self, self._stack, report)

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
                self._wait(program)

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
        belongings.remove(self, self._stack)
        self._note.unlink(missing_ok=True)
        self._engine_note.unlink(missing_ok=True)

    def wait_until_ready(self, report: Report = _silent) -> None:
        """Wait until every process that starts by itself can do its work."""
        programs = self.autostarted()
        report(f"Waiting until {len(programs)} processes can work")
        for program in programs:
            self._wait(program)
        report("Waiting until each consumer group has its members")
        for group, members in self.expected_members().items():
            self._wait_for_group(group, members)

    def start_process(self, name: str) -> None:
        self._supervisor().start_process(name)

    def stop_process(self, name: str) -> None:
        """Ask one process to finish its work in hand, and wait for its end. It stays down until started."""
        self._supervisor().stop_process(name)

    def renew_process(self, name: str) -> None:
        """Have a process run the code that is here now, and wait until it works, while its work goes on."""
        renew(self, name)

    def wait_for(self, program: Program, members: int = 0) -> None:
        """Wait until a process can do its work, and its group is whole: as many members as usual, or as said."""
        self._wait(program)
        if program.group:
            self._wait_for_group(in_namespace(program.group, self.namespace), members or self.members(program.group))

    def begin_anew(self, name: str) -> None:
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
            deadline_seconds=READY_WITHIN_SECONDS,
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
        return environment.of_process(self, self._stack, self.programs[name], self._environ)

    def environment_of(self, kind: str, role: str) -> dict[str, str]:
        """Return the environment of a program that works as some role in one of our databases, and then ends."""
        return {
            **self._environ,
            "PYTHONPATH": str(PROJECT),
            "DATABASE_URL": self.database_url(kind, role),
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

    def database_url(self, kind: str, role: str) -> str:
        return self._stack.servers.database_url(role, self.database(kind), scheme="postgresql+psycopg")

    def _wait(self, program: Program) -> None:
        supervisor = self._supervisor()
        wait_until_ready(
            name=program.name,
            probe=partial(PROBES[program.listens], self.host(program.name), self.ports()[program.name]),
            alive=lambda: supervisor.state(program.name) not in {"FATAL", "STOPPED"},
            log=supervisor.log_file(program.name),
            deadline_seconds=READY_WITHIN_SECONDS,
        )

    def _wait_for_group(self, group: str, members: int) -> None:
        wait_until_ready(
            name=f"consumer group {group}",
            probe=partial(ask_group, admin(self._stack.servers.kafka), group, members),
            alive=lambda: True,
            log=self.directory / "logs",
            deadline_seconds=READY_WITHIN_SECONDS,
        )

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


def remove_evidence(directory: Path) -> None:
    """Delete a run's folder."""
    shutil.rmtree(directory, ignore_errors=True)
