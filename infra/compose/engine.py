"""The engine's API, as far as we need it, over its Unix socket: standard library alone.

Invariant: it only knows what it is asked; which containers are ours is decided by whoever asks (``containers.py``).
"""

import http.client
import io
import json
import socket
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from infra.local.errors import StackError

SOCKET = Path("/var/run/docker.sock")
VERSION = "v1.45"
"""Of Docker Engine 26: the first that can mount one file of a volume, which is how secrets are handed out."""
TIMEOUT_SECONDS = 60.0


class EngineError(StackError):
    """The engine refused. ``status`` is HTTP's."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Engine:
    def __init__(self, path: Path = SOCKET) -> None:
        self._path = path

    def container(self, identity: str) -> dict[str, Any] | None:
        """Return all that is known of a container, or None."""
        try:
            found: dict[str, Any] = self.ask("GET", f"/containers/{quote(identity)}/json")
        except EngineError as error:
            if error.status == 404:
                return None
            raise
        return found

    def containers(self, labels: Mapping[str, str]) -> list[dict[str, Any]]:
        """List containers by labels, whatever their state."""
        filters = {"label": [f"{name}={value}" for name, value in labels.items()]}
        found: list[dict[str, Any]] = self.ask("GET", "/containers/json", {"all": "1", "filters": json.dumps(filters)})
        return found

    def create(self, name: str, description: Mapping[str, Any]) -> str:
        return str(self.ask("POST", "/containers/create", {"name": name}, description)["Id"])

    def start(self, identity: str) -> None:
        self.ask("POST", f"/containers/{identity}/start")

    def stop(self, identity: str, seconds: int) -> None:
        """Ask the main process to end, and wait until the container has. It counts as stopped on purpose."""
        self.ask("POST", f"/containers/{identity}/stop", {"t": str(seconds)}, timeout_seconds=seconds + 30)

    def remove(self, identity: str) -> None:
        """Kill and remove, with the volumes that have no name."""
        try:
            self.ask("DELETE", f"/containers/{identity}", {"force": "1", "v": "1"})
        except EngineError as error:
            if error.status not in {404, 409}:  # gone, or on its way
                raise

    def execute(self, identity: str, *command: str) -> None:
        """Run a command inside a container, as its user, and do not wait for it."""
        made = self.ask("POST", f"/containers/{identity}/exec", body={"Cmd": list(command)})
        self.ask("POST", f"/exec/{made['Id']}/start", body={"Detach": True})

    def memory_bytes(self, identity: str) -> int:
        """Return what a running container uses, without the page cache, as ``docker stats`` counts."""
        found = self.ask("GET", f"/containers/{identity}/stats", {"stream": "0", "one-shot": "1"})["memory_stats"]
        details = found.get("stats", {})
        cache = details.get("total_inactive_file", details.get("inactive_file", 0))
        return max(0, int(found.get("usage", 0)) - int(cache))

    def file(self, identity: str, path: str) -> bytes:
        """Return what a file of a container holds, whether it runs or not; nothing where there is no such file."""
        connection = self._connect(TIMEOUT_SECONDS)
        try:
            target = f"/containers/{identity}/archive?" + urlencode({"path": path})
            packed = io.BytesIO(self._send(connection, "GET", target, None).read())
        except EngineError as error:
            if error.status == 404:
                return b""
            raise
        finally:
            connection.close()
        with tarfile.open(fileobj=packed) as archive:
            content = archive.extractfile(archive.getmembers()[0])
            return content.read() if content else b""

    def log(self, identity: str) -> bytes:
        """Return what the main process has written, standard output and error together."""
        connection = self._connect(TIMEOUT_SECONDS)
        try:
            response = self._send(connection, "GET", f"/containers/{identity}/logs?stdout=1&stderr=1", None)
            return b"".join(_frames(response.read()))
        finally:
            connection.close()

    def events(self, labels: Mapping[str, str], kinds: tuple[str, ...]) -> "Events":
        """Follow what happens to containers from now on."""
        filters = {"label": [f"{name}={value}" for name, value in labels.items()], "event": list(kinds)}
        connection = self._connect(None)
        response = self._send(connection, "GET", "/events?" + urlencode({"filters": json.dumps(filters)}), None)
        return Events(connection, response)

    def ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> Any:
        """Send one request and return its answer. Raises EngineError when it is refused."""
        connection = self._connect(timeout_seconds)
        try:
            target = path + ("?" + urlencode(query) if query else "")
            text = self._send(connection, method, target, body).read()
            return json.loads(text) if text.strip() else None
        finally:
            connection.close()

    def _send(
        self, connection: http.client.HTTPConnection, method: str, target: str, body: Mapping[str, Any] | None
    ) -> http.client.HTTPResponse:
        content = None if body is None else json.dumps(body)
        connection.request(method, f"/{VERSION}{target}", content, {"Content-Type": "application/json"})
        response = connection.getresponse()
        if response.status >= 400:
            text = response.read().decode(errors="replace")
            raise EngineError(response.status, f"The engine refused {method} {target.partition('?')[0]}: {text}")
        return response

    def _connect(self, timeout_seconds: float | None) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection("engine", timeout=timeout_seconds)
        connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.sock.settimeout(timeout_seconds)
        try:
            connection.sock.connect(str(self._path))
        except OSError as error:
            raise StackError(
                f"The engine's socket {self._path} does not answer ({error.strerror}). This command needs it to stop "
                "and start containers: run it as `docker compose run --rm once ...`, and set DOCKER_SOCKET if the "
                "engine listens elsewhere."
            ) from error
        return connection


class Events:
    """A stream of happenings; iterating blocks until the next one. ``close`` from another thread ends it."""

    def __init__(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> None:
        self._connection = connection
        self._response = response

    def __iter__(self) -> Iterator[dict[str, Any]]:
        try:
            while line := self._response.readline():
                yield json.loads(line)
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            return  # closed by us, or the engine went away: nothing more will come

    def close(self) -> None:
        if self._connection.sock is not None:
            self._connection.sock.shutdown(socket.SHUT_RDWR)


def _frames(raw: bytes) -> Iterator[bytes]:
    """Take the engine's framing off: eight bytes of head, the last four of them the length."""
    place = 0
    while place + 8 <= len(raw):
        length = int.from_bytes(raw[place + 4 : place + 8], "big")
        yield raw[place + 8 : place + 8 + length]
        place += 8 + length
