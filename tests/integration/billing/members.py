"""Members of billing's group as real processes, each of which may be made to hang or die at a failpoint."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import psutil
from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient

from tests.conftest import eventually

PROJECT = Path(__file__).parents[3]
ARMED = ("chaos.armed", "services.billing")


@dataclass
class Crew:
    """One group, its topic and its database; its members are processes of this test."""

    database_url: str
    kafka: str
    topic: str
    protocol: str
    directory: Path
    group: str = field(default_factory=lambda: f"test.{uuid4().hex}")
    members: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(
        self, name: str, failpoints: str = "", program: Sequence[str] = (*ARMED, "consumer"), **settings: str
    ) -> None:
        """Start a member; ``failpoints`` is one line of ``chaos.armed``, such as ``consumer.after_poll…=stop``."""
        environment: Mapping[str, str] = {
            **os.environ,
            "DATABASE_URL": self.database_url,
            "KAFKA_BOOTSTRAP_SERVERS": self.kafka,
            "ORDERS_TOPIC": self.topic,
            "CONSUMER_GROUP": self.group,
            "GROUP_PROTOCOL": self.protocol,
            "MAX_POLL_INTERVAL_SECONDS": "6",
            "INSTANCE": name,
            "FAILPOINTS": failpoints,
            **settings,
        }
        with self.log(name).open("ab") as log:
            self.members[name] = subprocess.Popen(
                [sys.executable, "-m", *program],
                env=dict(environment),
                cwd=PROJECT,
                stdout=log,
                stderr=log,
            )

    def log(self, name: str) -> Path:
        return self.directory / f"{name}.log"

    def says(self, name: str, words: str) -> int:
        """Return how many lines of a member's log have these words."""
        return sum(words in line for line in self.log(name).read_text().splitlines())

    def is_stopped(self, name: str) -> bool:
        return psutil.Process(self.members[name].pid).status() == psutil.STATUS_STOPPED

    def signal(self, name: str, signal: signal.Signals) -> None:
        self.members[name].send_signal(signal)

    def end(self, name: str, seconds: float = 30) -> int:
        """Have a member finish its batch and leave."""
        member = self.members.pop(name)
        member.send_signal(signal.SIGCONT)
        member.terminate()
        return member.wait(seconds)

    def committed(self) -> dict[int, int]:
        """Return the group's committed offset of every partition that has one."""
        admin = AdminClient({"bootstrap.servers": self.kafka, "log_level": 0})
        asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(self.group)])[self.group].result(10)
        return {each.partition: each.offset for each in asked.topic_partitions if each.offset >= 0}

    def has_committed(self, offsets: Mapping[int, int]) -> None:
        eventually(lambda: self.committed() == dict(offsets), 40, lambda: (self.committed(), offsets))


@contextmanager
def crew(*arguments: object, **fields: object) -> Iterator[Crew]:
    """Make a crew, and kill at the end whoever of it is still there."""
    made = Crew(*arguments, **fields)  # type: ignore[arg-type]
    try:
        yield made
    finally:
        for member in made.members.values():
            member.kill()
            member.wait(10)
