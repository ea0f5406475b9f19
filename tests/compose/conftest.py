"""A project of its own on a real engine: its containers, networks and volumes carry its name and are removed after.

Where no engine answers, these tests say so and are skipped; with ``CI`` set they fail instead.
"""

import json
import os
import shutil
import socket
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any
from uuid import uuid4

import pytest

ROOT = Path(__file__).parents[2]
PORTS = ("ORDERS", "BILLING", "ANALYTICS", "POSTGRES", "KAFKA", "PROMETHEUS", "GRAFANA", "CONNECT")


@dataclass
class Project:
    """One copy of what docker-compose.yml describes."""

    name: str
    environment: Mapping[str, str]
    up_seconds: float = field(default=0.0)

    def compose(self, *arguments: str, check: bool = True, timeout: float = 600) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            ["docker", "compose", *arguments],
            cwd=ROOT,
            env=self.variables(),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert not check or done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done

    def variables(self) -> dict[str, str]:
        return {**os.environ, **self.environment, "COMPOSE_PROJECT_NAME": self.name, "BUILDKIT_PROGRESS": "quiet"}

    def port(self, name: str) -> int:
        return int(self.environment[f"{name}_PORT"])

    def get(self, name: str, path: str) -> Any:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port(name)}{path}", timeout=20) as answer:
            return json.loads(answer.read())

    def place(self) -> dict[str, Any]:
        body = {
            "customer_id": "ada",
            "email": "ada@example.com",
            "currency": "EUR",
            "lines": [{"sku": "coffee-1kg", "quantity": 2, "unit_price_minor": 1_250}],
        }
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port('ORDERS')}/orders",
            json.dumps(body).encode(),
            {"Content-Type": "application/json", "Idempotency-Key": uuid4().hex},
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            order: dict[str, Any] = json.loads(answer.read())
            return order

    def invoices(self, order_id: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.get("BILLING", f"/invoices?order_id={order_id}")["invoices"]
        return found

    def inspected(self) -> dict[str, dict[str, Any]]:
        """Return service → what the engine knows of its container, one-shots included."""
        identities = self.compose("ps", "--all", "--quiet").stdout.split()
        found = json.loads(docker("inspect", *identities))
        return {each["Config"]["Labels"]["com.docker.compose.service"]: each for each in found}

    def execute(self, service: str, *command: str) -> subprocess.CompletedProcess[str]:
        return self.compose("exec", "--no-TTY", service, *command, check=False)

    def destroy(self) -> None:
        self.compose("--profile", "*", "down", "--volumes", "--remove-orphans", "--timeout", "5", check=False)


def docker(*arguments: str) -> str:
    return subprocess.run(["docker", *arguments], capture_output=True, text=True, check=True, timeout=120).stdout


def new_project(**environment: str) -> Project:
    chosen = {f"{name}_PORT": str(free_port()) for name in PORTS}
    return Project(f"once-test-{uuid4().hex[:6]}", {**chosen, "LOAD": "0", **environment})


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever needs an engine is a long test."""
    for item in items:
        if item.path.parent == Path(__file__).parent and "engine" in getattr(item, "fixturenames", ()):
            item.add_marker("full")
            item.add_marker(pytest.mark.timeout(900))


@pytest.fixture(scope="session")
def engine() -> None:
    """Have an engine that answers, or say why not."""
    answers = shutil.which("docker") is not None and (
        subprocess.run(["docker", "info"], capture_output=True, check=False, timeout=60).returncode == 0
    )
    if not answers:
        words = "No Docker engine answers here, so nothing was tried in containers. Start one, then repeat."
        pytest.fail(words) if os.environ.get("CI") else pytest.skip(words)


@pytest.fixture(scope="session")
def images(engine: None) -> None:
    """Have our images built, so that what a test times is the start and not the build."""
    Project("once-test-build", {}).compose("--profile", "chaos", "build", "--quiet", timeout=900)


_running: list[Project] = []


@pytest.fixture(scope="session")
def system(images: None) -> Iterator[Project]:
    """Return a running project, just started with empty volumes."""
    project = new_project()
    _running.append(project)
    try:
        begun = monotonic()
        project.compose("up", "--detach", "--wait")
        project.up_seconds = monotonic() - begun
        yield project
    finally:
        _destroy_all()


def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """End the containers with the last test that needs them: they would take the processor from all that follow."""
    if nextitem is None or nextitem.path.parent != Path(__file__).parent:
        _destroy_all()


def _destroy_all() -> None:
    while _running:
        _running.pop().destroy()
