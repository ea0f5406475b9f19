"""Writers that make an outbox hard to read: late commits, roll-backs, savepoints, several events a transaction."""

import random
import threading
import time
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from shared import outbox
from shared.events import OrderConfirmed

AGGREGATES = 40

CREATE_AGGREGATES = """
CREATE TABLE aggregate (id text PRIMARY KEY, version int NOT NULL DEFAULT 0);
INSERT INTO aggregate (id) SELECT 'aggregate-' || n FROM generate_series(1, 40) AS n
"""


@dataclass
class Ledger:
    """What the writers committed: per aggregate the event ids in version order."""

    committed: dict[str, list[tuple[int, UUID]]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, written: list[tuple[str, int, UUID]]) -> None:
        with self.lock:
            for aggregate_id, version, event_id in written:
                self.committed.setdefault(aggregate_id, []).append((version, event_id))

    def __len__(self) -> int:
        with self.lock:
            return sum(len(events) for events in self.committed.values())


class Writer:
    """``oversized``: the share of events that are larger than a few kilobytes, however they are compressed."""

    def __init__(self, engine: Engine, ledger: Ledger, seed: int, oversized: float = 0.0) -> None:
        self._engine = engine
        self._ledger = ledger
        self._random = random.Random(seed)
        self._oversized = oversized

    def run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            self._one_transaction()

    def _one_transaction(self) -> None:
        written: list[tuple[str, int, UUID]] = []
        try:
            with self._engine.connect() as connection, connection.begin() as transaction:
                if self._random.random() < 0.3:
                    # The transaction's id is drawn long before any of its rows' ids.
                    connection.exec_driver_sql("SELECT pg_current_xact_id()")
                    self._dawdle()
                for _ in range(self._random.choice((1, 1, 1, 2, 5))):
                    self._one_event(connection, written)
                self._dawdle()
                if self._random.random() < 0.15:
                    transaction.rollback()
                    return
        except DBAPIError:
            return  # a deadlock between two of us: rolled back as a whole
        self._ledger.add(written)

    def _one_event(self, connection: Connection, written: list[tuple[str, int, UUID]]) -> None:
        savepoint = connection.begin_nested() if self._random.random() < 0.2 else None
        before = len(written)
        aggregate_id = f"aggregate-{self._random.randint(1, AGGREGATES)}"
        version = connection.execute(
            text("UPDATE aggregate SET version = version + 1 WHERE id = :id RETURNING version"), {"id": aggregate_id}
        ).scalar_one()
        payload = OrderConfirmed(order_id=aggregate_id, invoice_number=self._invoice_number())
        event = outbox.new_event("order", aggregate_id, version, payload, source="/test")
        outbox.add(connection, event)
        written.append((aggregate_id, version, event.event_id))
        if savepoint is not None and self._random.random() < 0.5:
            savepoint.rollback()
            del written[before:]

    def _invoice_number(self) -> str:
        return self._random.randbytes(4_000).hex() if self._random.random() < self._oversized else "1"

    def _dawdle(self) -> None:
        if self._random.random() < 0.2:
            time.sleep(self._random.uniform(0.0, 0.15))
