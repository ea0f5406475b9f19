"""Relays as processes of their own, what the table says of their leases, and the log that they have written."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from uuid import UUID

import psycopg
from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, TopicPartition
from sqlalchemy import Engine

from infra.kafka.reading import take
from infra.local.supervisor import Task
from shared.backlog import backlogs
from tests.conftest import eventually
from tests.hammer.broker import Log
from tests.hammer.judge import WATCH, Judge
from tests.integration.notifications.processes import PROJECT, Process

RELAY = "services.relay"

_NOTE_TAKEOVERS = """
CREATE TABLE taken (
  taken_from text, taken_by text, lease_until timestamptz, at timestamptz DEFAULT clock_timestamp(), up_at timestamptz
);
CREATE FUNCTION note_takeover() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO taken (taken_from, taken_by, lease_until, up_at)
  SELECT OLD.owner, NEW.owner, OLD.lease_until, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid();
  RETURN NULL;
END $$;
CREATE TRIGGER note_takeover AFTER UPDATE OF epoch ON relay_position
FOR EACH ROW WHEN (NEW.epoch > OLD.epoch AND OLD.owner IS NOT NULL AND NEW.owner IS NOT NULL)
EXECUTE FUNCTION note_takeover()
"""


@dataclass(frozen=True, slots=True)
class Takeover:
    """One position that changed hands. All times are the database's; ``up_at``: when the new owner had connected."""

    taken_from: str
    taken_by: str
    lease_until: datetime
    at: datetime
    up_at: datetime


@dataclass(frozen=True, slots=True)
class Ground:
    """An outbox, a topic, and what relays between them need to know."""

    url: str
    kafka: str
    topic: str
    folder: Path
    module: str = RELAY
    """What runs as a relay."""

    def environment(self, name: str, **more: str) -> Mapping[str, str]:
        return {
            "INSTANCE": name,
            "DATABASE_URL": self.url,
            "KAFKA_BOOTSTRAP_SERVERS": self.kafka,
            "ORDERS_TOPIC": self.topic,
            "BILLING_TOPIC": self.topic,
            "LOG_LEVEL": "WARNING",
            **more,
        }

    def process(self, name: str, **more: str) -> Process:
        return Process((self.module,), self.environment(name, **more), self.folder / f"{name}.log")

    def task(self, name: str, **more: str) -> Task:
        environment = {"PYTHONPATH": str(PROJECT), **self.environment(name, **more)}
        return Task(name=name, argv=(sys.executable, "-m", self.module), environment=environment, directory=self.folder)

    @contextmanager
    def running(self, *names: str, **more: str) -> Iterator[list[Process]]:
        """Run relays of these names; whatever became of them, none is left."""
        relays = [self.process(name, **more) for name in names]
        try:
            for each in relays:
                each.start()
            yield relays
        finally:
            for each in relays:
                if each.running is not None:
                    each.running.kill()
                    each.running.wait(30)

    def connect(self) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(self.url.replace("+psycopg", ""), autocommit=True)

    def watch(self, engine: Engine) -> None:
        """Note from now on which positions change hands, and which go back."""
        with engine.begin() as connection:
            connection.exec_driver_sql(_NOTE_TAKEOVERS)
            connection.exec_driver_sql(WATCH)

    def owners(self) -> set[object]:
        """Name the relays that hold lanes of events."""
        with self.connect() as connection:
            return {
                owner
                for (owner,) in connection.execute(
                    "SELECT DISTINCT owner FROM relay_position JOIN relay_lane USING (position_id) "
                    "WHERE relay_lane.destination = 'event' AND owner IS NOT NULL"
                )
            }

    def takeovers(self) -> list[Takeover]:
        with self.connect() as connection:
            rows = connection.execute("SELECT taken_from, taken_by, lease_until, at, up_at FROM taken ORDER BY at")
            return [Takeover(*row) for row in rows]  # type: ignore[arg-type]  # the columns are its fields, in order

    def pending(self) -> int:
        """Count events that wait, as far as a position says so; up to a bound."""
        with self.connect() as connection:
            return sum(each.pending for each in backlogs(connection.execute, 100_000))

    def parked(self) -> list[tuple[object, ...]]:
        with self.connect() as connection:
            return connection.execute("SELECT outbox_id, state, last_error FROM outbox_parked ORDER BY 1").fetchall()

    def judge(self, log: Log) -> Judge:
        return Judge(self.connect, log, crashes=False)

    def faults(self) -> list[str]:
        """Say what is wrong with the log and the positions, now that all is quiet."""
        return self.judge(read_log(self.kafka, self.topic)).at_the_end()


def read_log(kafka: str, topic: str) -> Log:
    """Read all partitions to their ends. An aggregate is on one of them, so their order among each other is moot."""
    log, ends = Log(), dict[int, int]()
    reader = Consumer({"bootstrap.servers": kafka, "group.id": "reader", "auto.offset.reset": "error"})
    for partition in reader.list_topics(topic, timeout=20).topics[topic].partitions:
        place = TopicPartition(topic, partition)
        # A partition whose leader has just changed may not know its end yet.
        low, high = eventually(
            lambda place=place: reader.get_watermark_offsets(place, timeout=5), 60, "its end is known"
        )
        if low < high:
            ends[partition] = high
    reader.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in ends])
    while ends:
        batch = take(reader, 10_000, wait_seconds=10)
        assert batch, f"what is left of {ends} did not come"
        for message in batch:
            assert message.error() is None
            log.note(*_said(message))
            if (message.offset() or 0) + 1 >= ends.get(message.partition() or 0, 2**63):
                del ends[message.partition() or 0]
    reader.close()
    return log


def _said(message: Message) -> tuple[str, int, UUID]:
    """Return aggregate, version and event id. Read here and not by the envelope's own code: a log may be long."""
    headers: dict[str, bytes] = dict(message.headers() or ())  # type: ignore[arg-type]  # ours all have values
    aggregate_id, version, event_id = (
        headers[name].decode() for name in ("ce_subject", "ce_aggregateversion", "ce_id")
    )
    return aggregate_id, int(version), UUID(event_id)
