"""Containers in the place of supervised processes: what ``infra.local.supervisor`` is for processes.

Invariant: it touches containers of its own project alone, found by their labels, never by name. A container of a run
is hardened like those in docker-compose.yml, and the engine starts it again when its main process dies.

Why not ``docker kill``: the engine takes that for a stop on purpose and does not start the container again. So a signal
is sent from inside, to everything but the init process, which then ends as well: that is how a process dies by itself.
"""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from signal import Signals
from typing import Any

from infra.compose.engine import Engine, EngineError
from infra.compose.happenings import Follower
from infra.local.restarts import History
from infra.local.supervisor import Running, Task

PROJECT_LABEL = "com.docker.compose.project"
SERVICE_LABEL = "com.docker.compose.service"
RUN_LABEL = "once.run"
PROCESS_LABEL = "once.process"
USER = "10001:10001"
MEMORY_BYTES = 192 * 1024 * 1024
AT_ONCE = 6
"""Containers that are started or stopped at the same time."""

_STATES = {"running": "RUNNING", "restarting": "BACKOFF", "paused": "RUNNING", "created": "STOPPED", "dead": "FATAL"}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the container that we run in was given, and passes on to the containers that it makes."""

    project: str
    image: str
    network: str
    work_volume: str
    secrets_volume: str

    def of_run(self, run: str) -> dict[str, str]:
        return {PROJECT_LABEL: self.project, RUN_LABEL: run}


class Containers:
    """The containers with certain labels. ``name_label`` is the label that holds a process's name."""

    def __init__(self, engine: Engine, labels: Mapping[str, str], name_label: str, directory: Path) -> None:
        self.directory = directory
        self._engine = engine
        self._labels = dict(labels)
        self._name_label = name_label

    # Who runs

    def pid(self, name: str) -> int | None:
        """Return the main process's number as the machine counts, which changes with every start."""
        state = self._state(name)
        return int(state["Pid"]) or None if state and state["Running"] and not state["Restarting"] else None

    def state(self, name: str) -> str:
        """Return the state in the supervisor's words."""
        state = self._state(name)
        return _word(state) if state else "STOPPED"

    def processes(self) -> list[Running]:
        found = (self._engine.container(each["Id"]) for each in self._listed())
        return sorted((self._running(each) for each in found if each), key=lambda running: running.name)

    def is_running(self) -> bool:
        return any(each["State"] == "running" for each in self._listed())

    def by_pid(self, pid: int) -> str | None:
        """Return the container whose main process has this number."""
        for each in self._listed():
            found = self._engine.container(each["Id"])
            if found and found["State"]["Pid"] == pid:
                return str(found["Id"])
        return None

    def port(self, name: str) -> str:
        """Return the address on the machine that a container's port is published at, or nothing."""
        found = self._engine.container(self._identity(name) or "-")
        ports: dict[str, list[dict[str, str]] | None] = found["NetworkSettings"]["Ports"] if found else {}
        bound = next((each[0] for each in ports.values() if each), None)
        return f"{bound['HostIp']}:{bound['HostPort']}" if bound else ""

    def memory_bytes(self, name: str) -> int:
        identity = self._identity(name)
        try:
            return self._engine.memory_bytes(identity) if identity else 0
        except (EngineError, KeyError):
            return 0

    # Change

    def start_process(self, name: str) -> None:
        if (identity := self._identity(name)) is not None:
            self._engine.start(identity)

    def stop_process(self, name: str, deadline_seconds: float = 30) -> None:
        """Ask a process to end as it would at shutdown, and wait until it has. It stays down until started."""
        if (identity := self._identity(name)) is not None:
            self._engine.stop(identity, int(deadline_seconds))

    def signal(self, identity: str, number: Signals) -> None:
        self._engine.execute(identity, "sh", "-c", f"kill -{number.name.removeprefix('SIG')} -1")

    def stop(self, deadline_seconds: float = 30) -> None:
        """Let every process finish its work in hand and end, all at the same time."""
        self._together(lambda each: self._engine.stop(each, int(deadline_seconds)))

    def kill(self) -> None:
        self._together(self._engine.remove)

    def read(self, name: str, path: str) -> bytes:
        """Return what a file in a container holds; nothing where there is no such file."""
        identity = self._identity(name)
        return self._engine.file(identity, path) if identity else b""

    def log_file(self, name: str) -> Path:
        """Return a file with what a container has written up to now."""
        file = self.directory / "logs" / f"{name}.log"
        identity = self._identity(name)
        if identity is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(self._engine.log(identity))
        return file

    # What a supervisor of processes has to do and the engine does by itself

    def clear_away(self) -> None: ...

    def orphans(self) -> list[Any]:
        return []

    def start(self, tasks: Iterable[Task]) -> None:
        """Start the containers of these processes, which are there: compose has made them."""
        for task in tasks:
            if task.autostart:
                self.start_process(task.name)

    def history(self) -> History:
        return History(())

    # Asking the engine

    def _listed(self) -> list[dict[str, Any]]:
        return [each for each in self._engine.containers(self._labels) if each["Labels"].get(self._name_label)]

    def _identity(self, name: str) -> str | None:
        found = self._engine.containers({**self._labels, self._name_label: name})
        return str(found[0]["Id"]) if found else None

    def _state(self, name: str) -> dict[str, Any] | None:
        identity = self._identity(name)
        found = self._engine.container(identity) if identity else None
        return found["State"] if found else None

    def _running(self, found: Mapping[str, Any]) -> Running:
        state = found["State"]
        since = datetime.fromisoformat(state["StartedAt"]) if state["Running"] else None
        name = found["Config"]["Labels"][self._name_label]
        return Running(name, _word(state), state["Pid"] or None, since, int(found["RestartCount"]))

    def _together(self, act: Callable[[str], None]) -> None:
        with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
            for done in [pool.submit(act, each["Id"]) for each in self._listed()]:
                done.result()


class ServiceContainers(Containers):
    """The containers of some services of docker-compose.yml, which has made them: they are only started and stopped."""

    def __init__(self, engine: Engine, project: str, services: Iterable[str], directory: Path) -> None:
        labels = {PROJECT_LABEL: project, "com.docker.compose.oneoff": "False"}
        super().__init__(engine, labels, SERVICE_LABEL, directory)
        self._services = frozenset(services)

    def _listed(self) -> list[dict[str, Any]]:
        return [each for each in super()._listed() if each["Labels"][SERVICE_LABEL] in self._services]


class RunContainers(Containers):
    """The containers of one run: made by us, and removed when they are stopped. What they write goes to files."""

    def __init__(self, engine: Engine, surroundings: Surroundings, run: str, directory: Path) -> None:
        super().__init__(engine, surroundings.of_run(run), PROCESS_LABEL, directory)
        self._surroundings = surroundings
        self._run = run
        self._follower = Follower(engine, surroundings.of_run(run), PROCESS_LABEL)

    def log_file(self, name: str) -> Path:
        return self.directory / "logs" / f"{name}.log"

    def start(self, tasks: Iterable[Task]) -> None:
        (self.directory / "logs").mkdir(parents=True, exist_ok=True)
        self._follower.start()
        with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
            for done in [pool.submit(self._make, task) for task in tasks]:
                done.result()

    def stop(self, deadline_seconds: float = 30) -> None:
        super().stop(deadline_seconds)
        self._follower.stop()
        self.kill()

    def history(self) -> History:
        return self._follower.history()

    def _make(self, task: Task) -> None:
        identity = self._identity(task.name)
        if identity is None:
            name = f"{self._surroundings.project}-{self._run}-{task.name}"
            identity = self._engine.create(name, self._description(task))
        if task.autostart:
            self._engine.start(identity)

    def _description(self, task: Task) -> dict[str, Any]:
        network = {"Aliases": [host_name(self._run, task.name)]}
        return {
            "Image": self._surroundings.image,
            "User": USER,
            "WorkingDir": "/app",
            "Env": [f"{name}={value}" for name, value in task.environment.items()],
            # A file, because what consumers write is evidence and is read while they run.
            "Entrypoint": ["sh", "-c", 'exec "$@" >>"$0" 2>&1', str(self.log_file(task.name))],
            "Cmd": list(task.argv),
            "Labels": {
                **self._surroundings.of_run(self._run),
                PROCESS_LABEL: task.name,
                # One-off containers of the service that we are: `docker compose down` takes them along.
                SERVICE_LABEL: "once",
                "com.docker.compose.oneoff": "True",
            },
            "HostConfig": self._limits(task),
            "NetworkingConfig": {"EndpointsConfig": {self._surroundings.network: network}},
        }

    def _limits(self, task: Task) -> dict[str, Any]:
        return {
            "Init": True,
            "ReadonlyRootfs": True,
            "CapDrop": ["ALL"],
            "SecurityOpt": ["no-new-privileges:true"],
            "Tmpfs": {"/tmp": "mode=1777"},  # noqa: S108  # the container's own
            "Memory": MEMORY_BYTES,
            "PidsLimit": 200,
            "NetworkMode": self._surroundings.network,
            "RestartPolicy": {"Name": "unless-stopped" if task.autorestart else "no"},
            "Mounts": [self._mount_of_run(), *self._secrets(task)],
        }

    def _mount_of_run(self) -> dict[str, Any]:
        return {
            "Type": "volume",
            "Source": self._surroundings.work_volume,
            "Target": str(self.directory),
            "VolumeOptions": {"Subpath": f"{self.directory.parent.name}/{self.directory.name}", "NoCopy": True},
        }

    def _secrets(self, task: Task) -> list[dict[str, Any]]:
        """Mount the secrets that a process is pointed at, and no others."""
        files = [Path(value) for name, value in task.environment.items() if name.endswith("_FILE")]
        return [
            {
                "Type": "volume",
                "Source": self._surroundings.secrets_volume,
                "Target": str(file),
                "ReadOnly": True,
                "VolumeOptions": {"Subpath": file.name, "NoCopy": True},
            }
            for file in dict.fromkeys(files)
        ]


def host_name(run: str, process: str) -> str:
    """Name a container of a run on the network."""
    return f"{run}-{process}"


def surroundings(engine: Engine, own_identity: str) -> Surroundings:
    """Look at the container that we run in."""
    own = engine.container(own_identity)
    if own is None:
        raise EngineError(404, "The engine does not know this container. Run this by `docker compose run --rm once`.")
    volumes = {mount["Destination"]: mount["Name"] for mount in own["Mounts"] if mount["Type"] == "volume"}
    networks = list(own["NetworkSettings"]["Networks"])
    return Surroundings(
        project=own["Config"]["Labels"][PROJECT_LABEL],
        image=own["Image"],
        network=networks[0],
        work_volume=volumes["/var/lib/once/work"],
        secrets_volume=volumes["/run/secrets"],
    )


def _word(state: Mapping[str, Any]) -> str:
    if state["Status"] == "exited":
        return "STOPPED" if state["ExitCode"] in {0, 137, 143} else "EXITED"
    return _STATES.get(state["Status"], "STOPPING")
