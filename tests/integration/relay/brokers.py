"""Kafka brokers of a test's own, to be stopped, killed and started again: one, or three that copy from each other."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka.admin import ClusterMetadata

from infra.kafka.topics import admin
from infra.local.kafka import JVM_OPTIONS, SETTINGS, aot_cache, java_command
from infra.local.ports import HOST, RUNS, free_block
from tests.conftest import eventually

_CLUSTER_ID = "dGVzdHMtb2YtdGhlLXJlbGF5"[:22]


class Broker:
    """One process, broker and controller at once."""

    def __init__(self, folder: Path, node: int, port: int, settings: dict[str, str]) -> None:
        self.node = node
        self.port = port
        self._folder = folder / f"broker-{node}"
        self._folder.mkdir(parents=True)
        text = "".join(f"{name}={value}\n" for name, value in settings.items())
        (self._folder / "server.properties").write_text(text, encoding="ascii")
        self._process: subprocess.Popen[bytes] | None = None

    def format(self) -> "subprocess.Popen[bytes]":
        """Begin to make an empty log."""
        arguments = ["kafka.tools.StorageTool", "format", "--cluster-id", _CLUSTER_ID, "--config", "server.properties"]
        return self._java(*arguments)

    def start(self) -> None:
        self._process = self._java("kafka.Kafka", "server.properties")

    def signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)
        if number is signal.SIGKILL:
            self._process.wait(30)
            self._process = None

    def close(self) -> None:
        if self._process is not None:
            self.signal(signal.SIGKILL)

    def _java(self, *arguments: str) -> "subprocess.Popen[bytes]":
        cache = [f"-XX:AOTCache={aot_cache()}"] if aot_cache().exists() else []
        with (self._folder / "broker.log").open("ab") as log:
            return subprocess.Popen(
                [*java_command(), *cache, *JVM_OPTIONS, *arguments],
                cwd=self._folder,
                env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
                stdout=log,
                stderr=log,
            )


class Cluster:
    def __init__(self, folder: Path, size: int) -> None:
        names = [f"{kind}-{node}" for node in range(1, size + 1) for kind in ("broker", "controller")]
        ports = free_block(names, RUNS)
        voters = ",".join(f"{node}@{HOST}:{ports[f'controller-{node}']}" for node in range(1, size + 1))
        copies = {
            "default.replication.factor": str(size),
            "offsets.topic.replication.factor": str(size),
            "transaction.state.log.replication.factor": str(size),
            "share.coordinator.state.topic.replication.factor": str(size),
        }
        self.brokers = {
            node: Broker(
                folder,
                node,
                ports[f"broker-{node}"],
                {
                    **SETTINGS,
                    **copies,
                    "node.id": str(node),
                    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
                    "listeners": f"PLAINTEXT://{HOST}:{ports[f'broker-{node}']},"
                    f"CONTROLLER://{HOST}:{ports[f'controller-{node}']}",
                    "advertised.listeners": f"PLAINTEXT://{HOST}:{ports[f'broker-{node}']}",
                    "controller.quorum.voters": voters,
                },
            )
            for node in range(1, size + 1)
        }

    @property
    def address(self) -> str:
        return ",".join(f"{HOST}:{broker.port}" for broker in self.brokers.values())

    def start(self) -> "Cluster":
        for formatting in [broker.format() for broker in self.brokers.values()]:
            assert formatting.wait(120) == 0
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

    def is_whole(self, topic: str) -> bool:
        """Tell whether every partition has all its copies in step."""
        partitions = self.metadata().topics[topic].partitions.values()
        return all(len(partition.isrs) == len(self.brokers) for partition in partitions)

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
