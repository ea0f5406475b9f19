"""The mail sink and the worker as real processes, and the queue in front of them."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
from celery import Celery
from redis import Redis

from infra.local.redis import server
from shared.events import SendInvoice
from tests.conftest import eventually

PROJECT = Path(__file__).parents[3]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass
class Process:
    """One of our processes. Stopped by its own pid, always."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    log: Path
    running: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.running = subprocess.Popen(
                self.command(),
                env={**os.environ, **self.environment},
                cwd=PROJECT,
                stdout=log,
                stderr=log,
            )

    def command(self) -> list[str]:
        return [sys.executable, "-m", *self.arguments]

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and return the exit status."""
        assert self.running is not None
        self.running.send_signal(how)
        status = self.running.wait(30)
        self.running = None
        return status

    def exit_status(self) -> int | None:
        assert self.running is not None
        return self.running.poll()


@dataclass
class Sink(Process):
    port: int = 0
    journal: Path = Path()

    def start(self) -> None:
        super().start()
        eventually(self._answers, 20, describe=lambda: self.log.read_text())

    def mails(self) -> list[dict[str, Any]]:
        if not self.journal.exists():
            return []
        return [msgspec.json.decode(line) for line in self.journal.read_bytes().splitlines()]

    def _answers(self) -> bool:
        with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
            return connection.recv(3) == b"220"


@dataclass
class OwnRedis(Process):
    """A Redis that a test may kill."""

    port: int = 0

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def command(self) -> list[str]:
        return [str(server()), *self.arguments]

    def start(self) -> None:
        super().start()
        eventually(self._answers, 20, describe=lambda: self.log.read_text())

    def _answers(self) -> bool:
        with Redis.from_url(self.url, socket_timeout=1) as client:
            return bool(client.ping())


class Queue:
    """Puts commands into the queue as billing's relay does."""

    def __init__(self, url: str) -> None:
        self._app = Celery(broker=url, set_as_current=False)

    def put(self, event_id: UUID, command: SendInvoice) -> None:
        self.put_raw(str(event_id), msgspec.json.decode(msgspec.json.encode(command)))

    def put_raw(self, event_id: str, command: object) -> None:
        self._app.send_task(
            "notifications.send_invoice",
            kwargs={"event_id": event_id, "command": command},
            task_id=event_id,
            queue="notifications",
            retry=False,
        )

    def close(self) -> None:
        self._app.close()
