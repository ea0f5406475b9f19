"""A server under the services (PostgreSQL, Kafka, Redis) is killed, stalled, restarted, or cannot write any more.

The servers are shared by everything that runs on this stack: while these faults last, nothing else on the stack works
either. Kill is a crash of a program: the page cache survives, so none of this says anything about a loss of power.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from gettext import gettext as _
from typing import Any

import psutil

from chaos.faults import Quiet
from chaos.history import FaultPhase
from chaos.stage import Stage

_NOT_A_BYTE = 0


class Server(StrEnum):
    POSTGRES = "postgres"
    KAFKA = "kafka"
    KAFKA_2 = "kafka-2"
    KAFKA_3 = "kafka-3"
    REDIS = "redis"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFault(Quiet):
    """What all of these have in common: the servers run again afterwards, whatever was done to them."""

    server: Server
    patience_seconds: float = 60.0

    def heal(self, stage: Stage) -> None:
        stage.stack.servers_up(stage.say)
        stage.record(self.name, FaultPhase.HEAL, self.server)

    def probe(self, stage: Stage) -> str | None:
        if stage.stack.servers_running():
            return None
        return _("{server} is not running").format(server=self.server)

    def pid(self, stage: Stage) -> int | None:
        return stage.stack.supervisor().pid(self.server.value)

    def comes_back(self, stage: Stage, old: int) -> None:
        """Wait for another process in the old one's place that answers."""
        stage.wait_until(lambda: self.pid(stage) not in (None, old), self.patience_seconds)
        stage.stack.servers_up(stage.say)


@dataclass(frozen=True, slots=True, kw_only=True)
class KillServer(ServerFault):
    """Kill the server; its supervisor starts it again, and it recovers by itself.

    ``number``: SIGKILL, or for PostgreSQL SIGQUIT ("immediate": the server ends all sessions and itself without a
    checkpoint, and recovers from its write-ahead log at the next start).
    """

    number: signal.Signals = signal.SIGKILL

    def inject(self, stage: Stage) -> None:
        pid = self.pid(stage)
        stage.record(self.name, FaultPhase.INJECT, self.server, pid=pid)
        if pid is None:
            return
        stage.record(self.name, FaultPhase.HIT, self.server, pid=pid, detail=self.number.name)
        stage.signal(pid, self.number)
        self.comes_back(stage, pid)


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartServer(ServerFault):
    """Stop the server in good order and start it again, as an upgrade does; again for each round."""

    rounds: int = 1
    pause_seconds: float = 2.0

    def inject(self, stage: Stage) -> None:
        supervisor = stage.stack.supervisor()
        for _round in range(self.rounds):
            with stage.evidence_of(self.name, self.server, detail="stopped and started in good order"):
                supervisor.stop_process(self.server.value)
            supervisor.start_process(self.server.value)
            stage.stack.servers_up(stage.say)
            stage.wait(self.pause_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class StallServer(ServerFault):
    """SIGSTOP the server and all of its processes for a while: it neither answers nor refuses; again for each round."""

    seconds: float = 6.0
    rounds: int = 1
    pause_seconds: float = 2.0

    @property
    def local_only(self) -> bool:
        return True

    def inject(self, stage: Stage) -> None:
        for _round in range(self.rounds):
            self._stall(stage)
            stage.wait(self.pause_seconds if self.rounds > 1 else 0.0)

    def _stall(self, stage: Stage) -> None:
        pid = self.pid(stage)
        stage.record(self.name, FaultPhase.INJECT, self.server, pid=pid)
        if pid is None:
            return
        stage.record(self.name, FaultPhase.HIT, self.server, pid=pid, detail=f"SIGSTOP for {self.seconds} s")
        try:
            for each in family(pid):
                stage.signal(each, signal.SIGSTOP)
            stage.wait(self.seconds)
        finally:
            self._go_on(stage)

    def heal(self, stage: Stage) -> None:
        self._go_on(stage)
        ServerFault.heal(self, stage)

    def _go_on(self, stage: Stage) -> None:
        if (pid := self.pid(stage)) is not None:
            for each in family(pid):
                stage.signal(each, signal.SIGCONT)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskFull(ServerFault):
    """The server may not make any file longer (RLIMIT_FSIZE of its processes is 0 from now on): every write fails.

    A stand-in for a full disk that needs no disk of its own: the error is EFBIG instead of ENOSPC, and what was
    preallocated is refused too. Each server gives up on it: PostgreSQL panics at its write-ahead log, Kafka takes its
    log directory off line and ends, Redis ends at its append-only file. Started again, they have room. Linux only.
    """

    @property
    def local_only(self) -> bool:
        return True

    @property
    def available(self) -> bool:
        return shutil.which("prlimit") is not None

    def inject(self, stage: Stage) -> None:
        pid = self.pid(stage)
        stage.record(self.name, FaultPhase.INJECT, self.server, pid=pid)
        if pid is None or not self.available:
            return
        youngest = self._sign_of_death(pid)
        for each in family(pid):
            _limit_files(each)
        if stage.wait_until(lambda: self._sign_of_death(pid) != youngest, self.patience_seconds):
            stage.record(self.name, FaultPhase.HIT, self.server, pid=pid, detail="could not write, and gave up")
        stage.stack.servers_up(stage.say)

    def _sign_of_death(self, pid: int) -> object:
        """PostgreSQL's first process outlives a panic and starts new ones; the others end."""
        helpers = [each for each in family(pid) if each != pid][:1]
        return helpers if self.server is Server.POSTGRES else psutil.pid_exists(pid)


def _limit_files(pid: int) -> None:
    """Forbid a process to make files longer, as the user that it runs as: nobody else may, not even root everywhere."""
    try:
        process = psutil.Process(pid)
        user, group = process.uids().real, process.gids().real
    except psutil.NoSuchProcess:
        return
    as_owner: dict[str, Any] = {} if user == os.geteuid() else {"user": user, "group": group, "extra_groups": []}
    subprocess.run(["prlimit", "--pid", str(pid), f"--fsize={_NOT_A_BYTE}:"], check=False, **as_owner)


def family(pid: int) -> list[int]:
    """A process and all that it has started, the oldest first."""
    return list(_family(pid))


def _family(pid: int) -> Iterator[int]:
    try:
        parent = psutil.Process(pid)
        yield pid
        for child in parent.children(recursive=True):
            yield child.pid
    except psutil.NoSuchProcess:
        return
