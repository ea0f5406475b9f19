"""Kafka nodes of a test's own, to be stopped, killed and started again: one, or three that copy from each other."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka.admin import ClusterMetadata

from infra.kafka.health import health
from infra.kafka.topics import admin
from infra.local.home import Home
from infra.local.kafka import Kafka, Node
from infra.local.ports import RUNS, free_block
from tests.conftest import eventually


class Broker:
    """One process, broker and controller at once."""

    def __init__(self, kafka: Kafka) -> None:
        self.kafka = kafka
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        task = self.kafka.task()
        with (task.directory / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(
                task.argv,
                cwd=task.directory,
                env={"PATH": os.environ["PATH"], **task.environment},
                stdout=log,
                stderr=log,
            )

    def signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)
        if number is signal.SIGKILL:
            self._process.wait(30)
            self._process = None

    def close(self) -> None:
        if self._process is not None:
            self.signal(signal.SIGKILL)


class Cluster:
    def __init__(self, folder: Path, size: int) -> None:
        names = [f"{kind}-{number}" for number in range(1, size + 1) for kind in ("broker", "controller")]
        ports = free_block(names, RUNS)
        nodes = [Node(ports[f"broker-{number}"], ports[f"controller-{number}"]) for number in range(1, size + 1)]
        self.brokers = {number: Broker(Kafka(Home(folder), nodes, number)) for number in range(1, size + 1)}

    @property
    def address(self) -> str:
        return ",".join(broker.kafka.bootstrap for broker in self.brokers.values())

    def start(self) -> "Cluster":
        for broker in self.brokers.values():
            broker.kafka.prepare(lambda _line: None)
        for broker in self.brokers.values():
            broker.start()
        eventually(lambda: len(self.metadata().brokers) == len(self.brokers), 120, "all brokers are there")
        return self

    def metadata(self) -> ClusterMetadata:
        return admin(self.address).list_topics(timeout=3)

    def busiest(self, topic: str) -> Broker:
        """Return the broker that leads most partitions of a topic."""
        leaders = [partition.leader for partition in self.metadata().topics[topic].partitions.values()]
        return self.brokers[max(self.brokers, key=leaders.count)]

    def is_whole(self) -> bool:
        """Tell whether every partition has all its copies in step."""
        return health(self.address).is_whole

    def close(self) -> None:
        for broker in self.brokers.values():
            broker.close()


@contextmanager
def cluster(folder: Path, size: int) -> Iterator[Cluster]:
    made = Cluster(folder, size)
    try:
        yield made.start()
    finally:
        made.close()
