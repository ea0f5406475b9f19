"""Debezium as a rival: a Connect worker that is warm, a slot made before the backlog, no snapshot, a fresh topic.

    with debezium.worker(place) as rival:
        rival.make_slot("batches")                         # before the backlog is written
        backlog.fill(connection, 100_000)
        arrivals = rival.publish("batches", place.new_topic(), 100_000)  # .rate: the middle 60 %

The JVM may take 1 GB and compile as much as it likes: what is measured is the best that it does here. Settings are in
``configurations/debezium-*.json``, laid over those of the engine ``cdc``.
"""

import json
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from chaos.bench import backlog, stopwatch
from chaos.bench.place import Place
from infra.cdc import slot
from infra.cdc.configuration import Source, connector
from infra.cdc.connect import connectors
from infra.cdc.worker import passwords, prepare, source
from infra.kafka.topics import ensure_topics
from infra.local.errors import NotReadyError, StackError
from infra.local.services import connect

THROUGHPUT = ("default", "batches", "large")
LATENCY = "latency"
WARMING_EVENTS = 20_000
PATIENCE_SECONDS = 240.0
_JVM = ("-Xms256m", "-Xmx1g", "-XX:+UseParallelGC")
_OUTBOX = "orders"


def tuning(configuration: str) -> dict[str, str]:
    """Read one of the committed configurations."""
    file = Path(__file__).parent / "configurations" / f"debezium-{configuration}.json"
    settings: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))["connector"]
    return settings


@dataclass(slots=True)
class Rival:
    """A running Connect worker."""

    place: Place
    address: str
    source: Source

    def make_slot(self, configuration: str) -> None:
        """Make the slot of a configuration afresh. What is written from now on is its backlog."""
        slot.make(self._url, self.slot_name(configuration))

    def publish(self, configuration: str, topic: str, events: int) -> stopwatch.Arrivals:
        """Publish what was written since the slot was made, and return how it arrived. Raises NotReadyError."""
        with self.streaming(configuration, topic):
            if not stopwatch.wait_for(self.place.kafka, topic, events, PATIENCE_SECONDS):
                raise NotReadyError(f"Debezium did not publish {events} events within {PATIENCE_SECONDS:.0f} s.")
        slot.drop(self._url, self.slot_name(configuration))
        return stopwatch.read(self.place.kafka, topic)

    @contextmanager
    def streaming(self, configuration: str, topic: str) -> Iterator[None]:
        """Have a connector run that publishes to a topic, from its slot on; it is there when it has started."""
        name = f"{configuration}-{topic.rpartition('.')[2]}"
        ours = replace(self.source, name=name, slot=self.slot_name(configuration), topic=topic)
        body = {"name": name, "config": connector(ours, tuning(configuration))}
        self._ask("POST", "/connectors", body)
        try:
            self._wait_until_running(name)
            yield
        finally:
            self._ask("DELETE", f"/connectors/{name}")

    def warm(self) -> None:
        """Have Java compile what it will run."""
        with self.place.connect(_OUTBOX) as database:
            backlog.fill(database, 0)
            self.make_slot("default")
            backlog.add(database, WARMING_EVENTS, salt="warm")
        self.publish("default", self.place.new_topic(), WARMING_EVENTS)

    @property
    def _url(self) -> str:
        return self.place.deployment.superuser_url(_OUTBOX)

    def slot_name(self, configuration: str) -> str:
        return f"{self.source.slot}_{configuration}"

    def _wait_until_running(self, name: str) -> None:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with suppress(OSError, KeyError):  # it is still starting
                found = {each.name: each for each in connectors(self.address)}[name]
                if found.state == "RUNNING":
                    return
                if found.state == "FAILED":
                    raise StackError(f"Debezium's connector {name} stopped: {found.error}")
            time.sleep(0.1)
        raise NotReadyError(f"Debezium's connector {name} does not run after 60 s.")

    def _ask(self, method: str, path: str, body: Mapping[str, object] | None = None) -> None:
        request = urllib.request.Request(
            f"http://{self.address}{path}",
            json.dumps(body).encode() if body else None,
            {"Content-Type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=60):  # noqa: S310  # our own worker
            return


@contextmanager
def worker(place: Place) -> Iterator[Rival]:
    """Start a Connect worker, warm it, and end it on the way out, with its slots."""
    deployment = place.deployment
    deployment.programs.setdefault(connect().name, connect())
    environment = deployment.environment(connect().name)
    ours = source(_OUTBOX, environment)
    ensure_topics(place.kafka, [ours.heartbeat_topic], partitions=1)
    port = int(environment["HTTP_PORT"])
    command = prepare(place.directory / "connect", place.kafka, port, [], _JVM)
    with _running(command, {**environment, **passwords([_OUTBOX], environment)}, place.directory / "connect.log"):
        rival = Rival(place, f"127.0.0.1:{port}", ours)
        _wait_until_it_answers(rival.address)
        rival.warm()
        try:
            yield rival
        finally:
            for configuration in (*THROUGHPUT, LATENCY):
                slot.drop(deployment.superuser_url(_OUTBOX), rival.slot_name(configuration))


@contextmanager
def _running(command: list[str], environment: Mapping[str, str], log: Path) -> Iterator[None]:
    with log.open("ab") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_it_answers(address: str) -> None:
    end = time.monotonic() + 90
    while time.monotonic() < end:
        with suppress(OSError, urllib.error.URLError):
            connectors(address)
            return
        time.sleep(0.2)
    raise NotReadyError("Kafka Connect does not answer after 90 s.")
