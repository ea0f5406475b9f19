"""Rows of an outbox that are hard to carry: odd bytes, a round second, no trace, two versions, a command between."""

from datetime import UTC, datetime
from uuid import uuid4

import psycopg

ROUND = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
TENTH = datetime(2026, 1, 2, 3, 4, 5, 100_000, tzinfo=UTC)

_ADD = """
INSERT INTO outbox (event_id, aggregate_type, aggregate_id, aggregate_version, destination, type, source, dataschema,
                    payload, traceparent, occurred_at)
VALUES (%s, %s, %s, %s, %s, %s, '/orders', %s, %s, %s, %s)
"""


def add(
    database: psycopg.Connection,
    aggregate_id: str,
    version: int = 1,
    *,
    destination: str = "event",
    payload: bytes = b'{"a":1}',
    trace: str | None = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    at: datetime | None = None,
    aggregate_type: str = "order",
) -> None:
    when = at or datetime.now(UTC)
    schema = "https://example.com/OrderPlaced/1"
    kind = (aggregate_type, aggregate_id, version, destination, "OrderPlaced", schema)
    database.execute(_ADD, [uuid4(), *kind, payload, trace, when])


def add_all(database: psycopg.Connection) -> int:
    """Write them; return how many are events of orders. One more is a notice, which has a topic of its own."""
    add(database, "plain")
    add(database, "plain", 2)
    add(database, "no-trace", trace=None)
    add(database, "round-second", at=ROUND)
    add(database, "tenth", at=TENTH)
    add(database, "odd-bytes", payload='{"größe":"½ Ł 🙂"}'.encode())
    add(database, "not-json", payload=bytes(range(256)))
    add(database, "empty", payload=b"")
    add(database, "command", destination="command")
    add(database, "orders/1", aggregate_type="dead_letter")
    for number in range(40):
        add(database, f"aggregate-{number}", payload=b"x" * number * 100)
    return 48
