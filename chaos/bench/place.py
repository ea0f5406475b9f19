"""Where it is measured: databases of their own on the servers of the stack, removed afterwards."""

import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from chaos.bench import stopwatch
from infra.kafka.topics import PARTITIONS, delete_topics
from infra.local.deployment import Deployment
from infra.local.stack import LocalStack

Child = subprocess.Popen[bytes]


@dataclass(slots=True)
class Place:
    """Databases, topics and a folder for logs."""

    deployment: Deployment
    kafka: str
    directory: Path
    topics: list[str] = field(default_factory=list)

    def connect(self, database: str) -> psycopg.Connection:
        """Connect as the superuser, in autocommit mode."""
        return psycopg.connect(self.deployment.superuser_url(database), autocommit=True)

    def new_topic(self, partitions: int = PARTITIONS) -> str:
        """Make a fresh topic that is stamped by the broker."""
        name = f"{self.deployment.namespace}.{secrets.token_hex(4)}"
        stopwatch.make_topic(self.kafka, name, partitions)
        self.topics.append(name)
        return name

    def environment(self, process: str, changes: Mapping[str, str]) -> dict[str, str]:
        """Return what a process of this copy would get, with changes and no metrics port."""
        return {**self.deployment.environment(process), "METRICS_PORT": "0", **changes}

    @contextmanager
    def running(
        self, argv: Sequence[str], environments: Sequence[Mapping[str, str]], stdout: int | None = None
    ) -> Iterator[list[Child]]:
        """Run one module once per environment; all of them are ended on the way out. What they say is in a log."""
        log = self.directory / "children.log"
        with log.open("ab") as output:
            children = [
                subprocess.Popen([sys.executable, "-m", *argv], env=environment, stdout=stdout or output, stderr=output)
                for environment in environments
            ]
        try:
            yield children
        finally:
            for child in children:
                child.terminate()
            for child in children:
                child.wait(timeout=30)


@contextmanager
def prepared(stack: LocalStack) -> Iterator[Place]:
    """Make the databases, and remove them and all topics at the end."""
    stack.servers_up()
    namespace = f"bench-{secrets.token_hex(2)}"
    directory = stack.home.runs / namespace
    directory.mkdir(parents=True, exist_ok=True)
    place = Place(stack.deployment(namespace, directory), stack.servers.kafka, directory)
    try:
        place.deployment.prepare()
        yield place
    finally:
        delete_topics(place.kafka, place.topics)
        place.deployment.destroy()
        if sys.exc_info()[0] is None:
            shutil.rmtree(directory)  # after a failure the rivals' own words are wanted
