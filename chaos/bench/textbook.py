"""The relay of the textbooks: unpublished rows by SKIP LOCKED, published inside the claiming transaction, then marked.

A rival to be measured. It loses order between two relays and holds a transaction while it waits for the broker; see
``docs/architecture.md`` for what is done instead. ``TEXTBOOK_BATCH=1`` is the form of the books, row by row with a
flush; a larger batch shows what batching alone brings.
"""

import os
import threading
from collections.abc import Sequence
from typing import Any, Final

import psycopg
from confluent_kafka import Producer

from shared.kafka import producer_config
from shared.lifecycle import stop_on_signals
from shared.settings import read_secret

TABLE: Final = """
CREATE TABLE textbook_outbox AS
SELECT id, event_id, aggregate_type, aggregate_id, aggregate_version, type, source, dataschema, payload, traceparent,
       occurred_at, NULL::timestamptz AS published_at FROM outbox ORDER BY id LIMIT %(events)s
"""
INDEXES: Final = (
    "ALTER TABLE textbook_outbox ADD PRIMARY KEY (id)",
    "CREATE INDEX ON textbook_outbox (id) WHERE published_at IS NULL",
)
GRANT: Final = "GRANT SELECT, UPDATE ON textbook_outbox TO orders_relay"

_CLAIM: Final = """
SELECT id, aggregate_id, payload, event_id, type, source, dataschema, aggregate_type, aggregate_version, traceparent,
       occurred_at
FROM textbook_outbox WHERE published_at IS NULL ORDER BY id LIMIT %(batch)s FOR UPDATE SKIP LOCKED
"""
_MARK: Final = "UPDATE textbook_outbox SET published_at = now() WHERE id = ANY(%(ids)s)"


def prepare(connection: psycopg.Connection, events: int) -> None:
    """Copy the first rows of the outbox into a table as the textbooks have it."""
    connection.execute("DROP TABLE IF EXISTS textbook_outbox")
    connection.execute(TABLE, {"events": events})
    for statement in (*INDEXES, GRANT):
        connection.execute(statement)
    connection.execute("VACUUM (ANALYZE) textbook_outbox")


def drain(connection: psycopg.Connection, producer: Producer, topic: str, batch: int, stop: threading.Event) -> None:
    """Publish until stopped or nothing is left."""
    while not stop.is_set():
        with connection.transaction():
            rows = connection.execute(_CLAIM, {"batch": batch}).fetchall()
            if not rows:
                return
            for row in rows:
                producer.produce(topic, key=row[1], value=row[2], headers=headers(row))
            producer.flush()
            connection.execute(_MARK, {"ids": [row[0] for row in rows]})


def headers(row: Sequence[Any]) -> list[tuple[str, str | bytes | None]]:
    """Return the same headers as the real relay's."""
    _, subject, _, event_id, kind, source, schema, aggregate_type, version, trace, at = row
    return [
        ("ce_specversion", b"1.0"),
        ("ce_id", str(event_id).encode()),
        ("ce_type", kind.encode()),
        ("ce_source", source.encode()),
        ("ce_subject", subject.encode()),
        ("ce_time", at.isoformat().encode()),
        ("ce_dataschema", schema.encode()),
        ("ce_aggregatetype", aggregate_type.encode()),
        ("ce_aggregateversion", str(version).encode()),
        ("content-type", b"application/json"),
        ("traceparent", trace.encode()),
    ]


def main() -> None:
    stop = stop_on_signals()
    producer = Producer(producer_config(os.environ["KAFKA_BOOTSTRAP_SERVERS"], "textbook"))
    address = os.environ["DATABASE_URL"].replace("+psycopg", "", 1)
    password = read_secret(os.environ["DATABASE_PASSWORD_FILE"])
    with psycopg.connect(address, password=password, autocommit=True) as connection:
        drain(connection, producer, os.environ["ORDERS_TOPIC"], int(os.environ["TEXTBOOK_BATCH"]), stop)


if __name__ == "__main__":
    main()
