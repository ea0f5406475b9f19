"""What a fault may touch: the run's own copy of the system, the servers under it, and the evidence.

Invariant: whatever a fault does to the system is recorded on disk before it is done. A fault reaches processes only by
the pids that the run's own supervisor knows, never by name.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg

from chaos import armed, journal
from chaos.history import FaultMark, FaultPhase
from chaos.proxy import Proxy
from infra.local.deployment import Deployment
from infra.local.services import in_namespace
from infra.local.stack import LocalStack

POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Handed to every step of every fault."""

    run: str
    stack: LocalStack
    deployment: Deployment
    faults: Path
    failpoints: Path
    seed: int = 0
    links: Mapping[str, Proxy] = field(default_factory=dict)
    """Server → the proxy that some processes reach it through."""
    poisoned: list[str] = field(default_factory=list)
    """What a fault spoils on purpose, as ``expect.poisoned`` names it: events, aggregates, places in the log."""
    act: str | None = None
    say: Callable[[str], None] = field(default=lambda _sentence: None)
    abandoned: threading.Event = field(default_factory=threading.Event)

    def record(
        self,
        fault: str,
        phase: FaultPhase,
        target: str,
        *,
        pid: int | None = None,
        failpoint: str | None = None,
        detail: str | None = None,
    ) -> None:
        """One line of ``faults.jsonl``, on disk when this returns."""
        mark = FaultMark(
            fault=fault,
            act=self.act,
            phase=phase,
            at=datetime.now(UTC),
            target=target,
            pid=pid,
            failpoint=failpoint,
            detail=detail,
        )
        journal.append(self.faults, mark)

    def hits(self, fault: str, target: str | None = None) -> int:
        """How often a fault has bitten so far, by the evidence."""
        return sum(
            1
            for line in journal.rows(self.faults)
            if line["phase"] == "hit" and line["fault"] == fault and target in (None, line["target"])
        )

    def wait_until(self, probe: Callable[[], object], seconds: float) -> bool:
        """Look until the probe says yes, the time is up or the run is abandoned."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not self.abandoned.is_set():
            if probe():
                return True
            self.abandoned.wait(POLL_SECONDS)
        return bool(probe())

    def wait(self, seconds: float) -> None:
        self.abandoned.wait(seconds)

    def arm(self, instance: str, *armings: armed.Arming) -> None:
        armed.arm(self.failpoints, instance, *armings)

    def disarm(self, instance: str) -> None:
        armed.disarm(self.failpoints, instance)

    def signal(self, pid: int, number: signal.Signals) -> bool:
        """Send a signal to a process of ours; says whether it was still there."""
        return self.deployment.send_signal(pid, number)

    def in_namespace(self, name: str) -> str:
        """The topic or group of this run that plays the part of ``name``."""
        return in_namespace(name, self.run)

    @contextmanager
    def database(self, kind: str) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        """A superuser's connection to one of the run's databases, in autocommit mode."""
        url = self.deployment.superuser_url(kind)
        with psycopg.connect(url, autocommit=True, connect_timeout=5, application_name="chaos") as connection:
            yield connection

    def runs(self, instance: str) -> bool:
        return self.deployment.pid(instance) is not None

    @contextmanager
    def evidence_of(self, fault: str, target: str, detail: str | None = None) -> Iterator[None]:
        """Record what is about to be done, then do it."""
        self.record(fault, FaultPhase.INJECT, target, detail=detail)
        self.record(fault, FaultPhase.HIT, target, detail=detail)
        yield
