"""The class room with Docker alone: from the archive to the verdict, with nothing that reaches a network.

Run on demand, with CLASS_ROOM=1: it downloads every wheel and packs every image, which takes minutes.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra import load_bundle
from tests.compose.conftest import ROOT, Project, new_project
from tests.readme.documents import blocks

pytestmark = pytest.mark.skipif(
    not os.environ.get("CLASS_ROOM"), reason="downloads every wheel and packs every image; ask for it with CLASS_ROOM=1"
)

PAGE = ROOT / "docs" / "workshop" / "class-room.md"
NO_NETWORK = """
services:
  secrets: {build: {network: none}}
  once: {build: {network: none}}
networks:
  default: {internal: true}
"""
"""Builds have no network at all, and containers one without a way out."""


@pytest.fixture(scope="module")
def stick(engine: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle for this machine and its containers."""
    path = tmp_path_factory.mktemp("stick") / "once-bundle.tar"
    only = ["--platform", load_bundle.here(), "--python", f"{sys.version_info[0]}.{sys.version_info[1]}"]
    done = subprocess.run(
        [sys.executable, "-m", "infra.bundle", *only, "--output", str(path)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return path


@pytest.fixture(scope="module")
def room(stick: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page's commands for those who have Docker alone; returns the clone."""
    folder = tmp_path_factory.mktemp("room")
    (found,) = [block for block in blocks(PAGE.name, PAGE.read_text()) if "docker load" in " ".join(block.commands)]
    for command in found.commands[:-1]:
        here = command.replace("/media/stick/once-bundle.tar", str(stick))
        subprocess.run(["bash", "-ec", f"cd {folder}; {here}"], check=True)
    clone = folder / "effectively-once"
    (clone / "no-network.yml").write_text(NO_NETWORK)
    return clone


@pytest.fixture(scope="module")
def project(room: Path) -> Iterator[Project]:
    project = new_project(COMPOSE_FILE="docker-compose.yml:no-network.yml", PIP_INDEX_URL="http://127.0.0.1:9")
    try:
        yield project
    finally:
        project.destroy()


def test_containers_are_built_and_judged_without_a_network(engine: None, room: Path, project: Project) -> None:
    """Red without the wheels: then pip finds no index."""
    compose(room, project, "--profile", "chaos", "build", "--no-cache", "--quiet")
    compose(room, project, "up", "--detach", "--wait")
    said = compose(room, project, "run", "--rm", "--no-TTY", "once", "demo", "--seconds", "6")
    assert re.search(r"PASS\s+\d+ orders, \d+ invoices", said)
    compose(room, project, "--profile", "*", "down", "--volumes", "--timeout", "5")


def compose(folder: Path, project: Project, *arguments: str) -> str:
    done = subprocess.run(
        ["docker", "compose", *arguments], cwd=folder, env=project.variables(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout
