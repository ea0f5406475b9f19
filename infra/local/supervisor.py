"""A supervisord of our own: keeps a set of processes running, each with its log file, until it is told to stop.

Invariant: all state is in one folder, and the only way in is an HTTP server on 127.0.0.1 with a generated password (no
Unix socket: its path may not be longer than about 107 bytes). ``start`` and ``stop`` may be repeated, and clear away
what a killed supervisor left running.

Not promised: order. Processes start together and must wait for each other themselves.
"""

import contextlib
import hashlib
import json
import os
import shlex
import signal
import subprocess
import sys
import time
import xmlrpc.client  # the only XML comes from our own supervisord on the loopback interface
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import psutil

from infra.local.errors import NotReadyError, StackError
from infra.local.home import PROJECT
from infra.local.ports import HOST, holder, is_free
from infra.local.restarts import History, read_history

_AWAY = (OSError, HTTPException)
_STOP_SLACK_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Task:
    """A process to be kept running."""

    name: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    directory: Path
    user: str | None = None
    autostart: bool = True
    autorestart: bool = True
    stop_signal: str = "TERM"
    stop_seconds: int = 15
    log_limit_bytes: int = 20_000_000
    """0 keeps everything: a log that is evidence must not be rotated away."""


@dataclass(frozen=True, slots=True)
class Running:
    """What the supervisor says about one process."""

    name: str
    state: str
    pid: int | None
    since: datetime | None
    restarts: int


class Supervisor:
    def __init__(self, directory: Path, port: int, password: str) -> None:
        self.directory = directory
        self.port = port
        self._password = password

    def log_file(self, name: str) -> Path:
        return self.directory / "logs" / f"{name}.log"

    @property
    def own_log(self) -> Path:
        return self.directory / "supervisord.log"

    def is_running(self) -> bool:
        try:
            return bool(self._call("getState")["statecode"] == 1)
        except (*_AWAY, xmlrpc.client.Error):
            return False

    def start(self, tasks: Iterable[Task]) -> None:
        """Keep exactly these processes running from now on; those that run unchanged are not touched."""
        wanted = list(tasks)
        running = self.is_running()
        self._write(wanted)
        if running:
            self._reconcile(wanted)
        else:
            self.clear_away()
            self._launch()

    def stop(self, deadline_seconds: float = 90) -> None:
        """End every process and the supervisor itself, in order; harmless when nothing runs."""
        daemon = self._daemon()
        if daemon is not None:
            self._stop_together()
            daemon.send_signal(signal.SIGTERM)
            try:
                daemon.wait(deadline_seconds)
            except psutil.TimeoutExpired:
                daemon.kill()
        self.clear_away()

    def _stop_together(self) -> None:
        """Ask every process to end at once: told to end itself, the supervisor would ask one after the other."""
        with contextlib.suppress(*_AWAY, xmlrpc.client.Error):
            self._call("stopAllProcesses", True)

    def kill(self) -> None:
        """End everything at once, without letting work finish: for data that are deleted next."""
        daemon = self._daemon()
        doomed = [*([daemon] if daemon else []), *self.orphans()]
        for process in doomed:  # the supervisor first, or it would start the others again
            _signal_group(process, signal.SIGKILL)
        psutil.wait_procs(doomed, timeout=_STOP_SLACK_SECONDS)

    def start_process(self, name: str) -> None:
        if self.state(name) in {"STARTING", "RUNNING"}:
            return
        self._call("startProcess", name, False)

    def stop_process(self, name: str, deadline_seconds: float = 90) -> None:
        """Ask a process to end as it would at shutdown, and wait until it has."""
        ended = {"STOPPED", "EXITED", "FATAL"}
        if self.state(name) in ended:
            return
        self._call("stopProcess", name, False)
        end = time.monotonic() + deadline_seconds
        while self.state(name) not in ended:
            if time.monotonic() > end:
                raise NotReadyError(
                    f"{name} has not ended {deadline_seconds:.0f} s after it was asked to. "
                    f"Its log: {self.log_file(name)}"
                )
            time.sleep(0.05)

    def state(self, name: str) -> str:
        return str(self._call("getProcessInfo", name)["statename"])

    def pid(self, name: str) -> int | None:
        try:
            return self._call("getProcessInfo", name)["pid"] or None
        except (*_AWAY, xmlrpc.client.Error):
            return None

    def processes(self) -> list[Running]:
        """Return all processes, or nothing when the supervisor does not run, or is another stack's on our port."""
        try:
            rows = self._call("getAllProcessInfo")
        except (*_AWAY, xmlrpc.client.Error):
            return []
        history = self.history()
        return [_running(row, history) for row in rows]

    def history(self) -> History:
        """Return what was started and what ended by itself since this supervisor's log began."""
        return read_history(self.own_log)

    def clear_away(self) -> None:
        """End what runs although its supervisor is gone (killed with -9, say)."""
        orphans = self.orphans()
        for process in orphans:
            _signal_group(process, signal.SIGTERM)
        _, stubborn = psutil.wait_procs(orphans, timeout=_STOP_SLACK_SECONDS)
        for process in stubborn:
            _signal_group(process, signal.SIGKILL)
        psutil.wait_procs(stubborn, timeout=_STOP_SLACK_SECONDS)

    def orphans(self) -> list[psutil.Process]:
        """Return what runs and was started by a supervisor of this folder, whether or not that one still runs."""
        return [process for note in self._launches.glob("*.pid") if (process := _from_note(note))]

    @property
    def _launches(self) -> Path:
        return self.directory / "processes"

    @property
    def _configuration(self) -> Path:
        return self.directory / "supervisord.conf"

    def _write(self, tasks: list[Task]) -> None:
        (self.directory / "logs").mkdir(parents=True, exist_ok=True)
        self._launches.mkdir(exist_ok=True)
        for task in tasks:
            _write_private(self._launches / f"{task.name}.json", _launch_file(task))
        _write_private(self._configuration, configuration(tasks, self.port, self._password))

    def _launch(self) -> None:
        if not is_free(self.port):
            raise StackError(
                f"Port {self.port}, where the supervisor of {self.directory} should listen, is held by "
                f"{holder(self.port)}. Stop that process, or choose another port with ONCE_PORT_SUPERVISOR."
            )
        environment = {
            **_base_environment(),
            "ONCE_PYTHON": shlex.quote(sys.executable),
            "ONCE_LAUNCHES": shlex.quote(str(self._launches)),
            "PYTHONPATH": str(PROJECT),
        }
        command = [sys.executable, "-m", "supervisor.supervisord", "-c", str(self._configuration)]
        done = subprocess.run(
            command, env=environment, cwd=self.directory, capture_output=True, text=True, check=False, timeout=60
        )
        if done.returncode != 0:
            raise StackError(
                f"The process supervisor did not start: {done.stderr.strip() or done.stdout.strip()} "
                f"Its log: {self.own_log}"
            )
        end = time.monotonic() + 20
        while not self.is_running():
            if time.monotonic() > end:
                raise NotReadyError(f"The process supervisor does not answer. Its log: {self.own_log}")
            time.sleep(0.05)

    def _reconcile(self, wanted: list[Task]) -> None:
        added, changed, removed = self._call("reloadConfig")[0]
        for name in [*changed, *removed]:
            self.stop_process(name)
            self._call("removeProcessGroup", name)
        for name in [*added, *changed]:
            self._call("addProcessGroup", name)
        states = {each.name: each.state for each in self.processes()}
        for task in wanted:
            if task.autostart and states[task.name] not in {"STARTING", "RUNNING", "BACKOFF"}:
                self._call("startProcess", task.name, False)

    def _call(self, method: str, *arguments: Any) -> Any:
        address = f"http://once:{self._password}@{HOST}:{self.port}/RPC2"
        with xmlrpc.client.ServerProxy(address, transport=_Transport()) as proxy:
            return getattr(proxy.supervisor, method)(*arguments)

    def _daemon(self) -> psutil.Process | None:
        """Return the supervisor's process, checked to be ours: a process id alone may have been given away."""
        try:
            process = psutil.Process(int((self.directory / "supervisord.pid").read_text()))
            return process if str(self._configuration) in process.cmdline() else None
        except (OSError, ValueError, psutil.Error):
            return None


def configuration(tasks: Iterable[Task], port: int, password: str) -> str:
    """Return the supervisor's configuration; paths are relative to its folder: an ini file cannot hold them all."""
    digest = hashlib.sha1(password.encode(), usedforsecurity=False).hexdigest()
    lines = [
        "[supervisord]",
        "logfile=supervisord.log",
        "logfile_maxbytes=10MB",
        "logfile_backups=2",
        "pidfile=supervisord.pid",
        "childlogdir=logs",
        *(["user=root"] if os.geteuid() == 0 else []),
        "[inet_http_server]",
        f"port={HOST}:{port}",
        "username=once",
        f"password={{SHA}}{digest}",
        "[rpcinterface:supervisor]",
        "supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface",
    ]
    for task in tasks:
        lines += _section(task)
    return "\n".join(lines) + "\n"


def _section(task: Task) -> list[str]:
    revision = hashlib.sha256(_started_by(task, task.environment).encode()).hexdigest()[:16]
    return [
        f"[program:{task.name}]",
        f"command=%(ENV_ONCE_PYTHON)s -m infra.local.launch %(ENV_ONCE_LAUNCHES)s/{task.name}.json",
        # A digest of the launch: the supervisor restarts a process only if it sees its own section change. Without what
        # is the caller's: whoever comes from another shell, with another PATH, changes nothing of what runs.
        f'environment=ONCE_REVISION="{revision}"',
        f"autostart={str(task.autostart).lower()}",
        f"autorestart={str(task.autorestart).lower()}",
        "startsecs=1",
        "startretries=60",
        f"stopsignal={task.stop_signal}",
        f"stopwaitsecs={task.stop_seconds}",
        "killasgroup=true",
        "redirect_stderr=true",
        f"stdout_logfile=logs/{task.name}.log",
        f"stdout_logfile_maxbytes={task.log_limit_bytes}",
        f"stdout_logfile_backups={3 if task.log_limit_bytes else 0}",
    ]


def _launch_file(task: Task) -> str:
    return _started_by(task, {**_base_environment(), **task.environment})


def _started_by(task: Task, environment: Mapping[str, str]) -> str:
    return json.dumps(
        {
            "argv": list(task.argv),
            "environment": dict(environment),
            "directory": str(task.directory),
            "user": task.user,
        },
        indent=1,
        sort_keys=True,
    )


def _base_environment() -> dict[str, str]:
    """Return what a process needs of ours; nothing else leaks in. UTF-8, or Java cannot read such paths."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH") if name in os.environ}
    return {**kept, "LC_ALL": "C.UTF-8", "PYTHONUNBUFFERED": "1"}


def _write_private(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


def _running(row: Mapping[str, Any], history: History) -> Running:
    alive = row["statename"] in {"STARTING", "RUNNING", "STOPPING"}
    since = datetime.fromtimestamp(row["start"], UTC) if alive and row["start"] else None
    return Running(row["name"], row["statename"], row["pid"] or None, since, history.restarts(row["name"]))


def _from_note(note: Path) -> psutil.Process | None:
    """Find the process that a launcher wrote down, unless its number belongs to somebody else by now."""
    try:
        written = json.loads(note.read_text(encoding="utf-8"))
        process = psutil.Process(written["pid"])
        same = abs(process.create_time() - written["created"]) < 2
        return process if same and process.status() != psutil.STATUS_ZOMBIE else None
    except (OSError, ValueError, KeyError, psutil.Error):
        return None


def _signal_group(process: psutil.Process, number: signal.Signals) -> None:
    """Signal the group that a supervised process leads, or the process if it leads none."""
    try:
        if os.getpgid(process.pid) == process.pid and number == signal.SIGKILL:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
    except (ProcessLookupError, psutil.NoSuchProcess):
        pass


class _Transport(xmlrpc.client.Transport):
    """The standard transport, with a time limit."""

    def make_connection(self, host: Any) -> HTTPConnection:
        connection = super().make_connection(host)
        connection.timeout = 10
        return connection
