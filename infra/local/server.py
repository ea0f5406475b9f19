"""What the stack asks of a server (PostgreSQL, Kafka, Redis), whatever it is."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from infra.local.errors import NotReadyError
from infra.local.supervisor import Task

Report = Callable[[str], None]
"""Takes one line for a person: what is being done from now on."""


@dataclass(frozen=True, slots=True)
class Address:
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class Server(Protocol):
    name: str
    title: str

    def prepare(self, report: Report) -> None:
        """Make what the server needs on disk before it can start; quick when it is there."""
        ...

    def task(self) -> Task:
        """Say how it is started."""
        ...

    def probe(self) -> None:
        """Ask it a real question (an open port is not an answer); raise any error when it is not ready."""
        ...

    def destroy(self) -> None:
        """Delete all data. The server must be down."""
        ...


def wait_until_ready(
    name: str, probe: Callable[[], None], alive: Callable[[], bool], log: object, deadline_seconds: float
) -> None:
    """Ask until the probe succeeds. Raises NotReadyError with the last answer and where to read on."""
    end = time.monotonic() + deadline_seconds
    pause = 0.05
    while True:
        try:
            probe()
        except Exception as error:  # noqa: BLE001  # any error means: not yet
            last = str(error).strip().splitlines()
        else:
            return
        if time.monotonic() > end or not alive():
            reason = last[0] if last else "no answer"
            raise NotReadyError(
                f"{name} is not ready after {deadline_seconds:.0f} s or has given up: {reason}. "
                f"Read {log}, then run `once doctor`."
            )
        time.sleep(pause)
        pause = min(pause * 1.5, 0.5)
