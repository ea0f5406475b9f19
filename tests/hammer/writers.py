"""Writers that make an outbox hard to read and keep the one rule: lock the aggregate first, then draw the id."""

import random
import threading
import time
from collections import Counter
from uuid import uuid4

import psycopg
from psycopg import Connection, IsolationLevel

from shared.events import OrderConfirmed
from shared.outbox import Event, new_event, statement

CREATE = """
CREATE TABLE aggregate (id text PRIMARY KEY, version int NOT NULL DEFAULT 0);
INSERT INTO aggregate (id) SELECT 'aggregate-' || n FROM generate_series(0, 199) AS n;
CREATE TABLE noise (n int)
"""
AGGREGATES = 200

_NEXT_VERSION = "UPDATE aggregate SET version = version + 1 WHERE id = %s RETURNING version"

# Lock and id in one statement: the row is updated before the row that is inserted draws its id.
_BOTH_IN_ONE = """
WITH next AS (UPDATE aggregate SET version = version + 1 WHERE id = %(aggregate_id)s RETURNING version)
INSERT INTO outbox (event_id, aggregate_type, aggregate_id, aggregate_version, destination, type, source, dataschema,
                    payload)
SELECT %(event_id)s, %(aggregate_type)s, %(aggregate_id)s, version, %(destination)s, %(type)s, %(source)s,
       %(dataschema)s, %(payload)s FROM next
"""
_COPY = """
COPY outbox (event_id, aggregate_type, aggregate_id, aggregate_version, destination, type, source, dataschema, payload)
FROM STDIN
"""
_SUBTRANSACTION = "SAVEPOINT one; INSERT INTO noise VALUES (1); RELEASE one;"
MORE_THAN_LISTED = 70
"""A snapshot taken by the server lists at most 64 subtransactions of each session."""

_two_phase = threading.Semaphore(3)


class Writer(threading.Thread):
    """One session that writes until stopped. Roll-backs, deadlocks and lost sessions are part of it."""

    def __init__(
        self, url: str, dice: random.Random, stop: threading.Event, tally: Counter[str], *, two_phase: bool
    ) -> None:
        super().__init__(daemon=True)
        self._url = url
        self._dice = dice
        self._stop_asked = stop
        self._tally = tally
        self._two_phase = 0.05 if two_phase else 0.0
        self._connection: Connection | None = None

    def run(self) -> None:
        while not self._stop_asked.is_set():
            self._stop_asked.wait(self._dice.expovariate(1 / 0.02))
            try:
                self._one_transaction(self._session())
            except psycopg.Error as error:
                self._tally[f"writer: {type(error).__name__}"] += 1
                self._recover()
        self._recover(close=True)

    def _session(self) -> Connection:
        if self._connection is None:
            self._connection = psycopg.connect(self._url, connect_timeout=5)
            self._connection.execute("SET lock_timeout = '2s'")
            self._connection.commit()
        return self._connection

    def _recover(self, close: bool = False) -> None:
        if self._connection is None:
            return
        try:
            self._connection.rollback()
        except psycopg.Error:
            close = True  # also out of a two-phase transaction; what is prepared is left to whoever finds it
        if close or self._connection.closed:
            self._connection.close()
            self._connection = None

    def _one_transaction(self, connection: Connection) -> None:
        two_phase = self._dice.random() < self._two_phase and _two_phase.acquire(blocking=False)
        try:
            levels = (None, None, None, None, IsolationLevel.REPEATABLE_READ, IsolationLevel.SERIALIZABLE)
            connection.isolation_level = self._dice.choice(levels)
            if two_phase:
                connection.tpc_begin(uuid4().hex)
            self._work(connection)
            if two_phase:
                connection.tpc_prepare()
                self._dawdle()
            self._end(connection, two_phase)
        finally:
            if two_phase:
                _two_phase.release()

    def _work(self, connection: Connection) -> None:
        if self._dice.random() < 0.3:
            # Writes elsewhere first: the transaction has its id long before any aggregate's lock.
            connection.execute("INSERT INTO noise VALUES (0)")
            self._dawdle()
        if self._dice.random() < 0.03:
            connection.execute(_SUBTRANSACTION * MORE_THAN_LISTED)
        for _ in range(self._dice.choice((1, 1, 1, 2, 5))):
            self._maybe_in_savepoint(connection)
        if self._dice.random() < 0.02:
            # More than most chunks hold, so that a relay has to come back for it, and can die on the way.
            self._newborns(connection, 150)
        self._dawdle()

    def _end(self, connection: Connection, two_phase: bool) -> None:
        commit = self._dice.random() > 0.15
        self._tally["committed" if commit else "rolled back"] += 1
        if two_phase:
            (connection.tpc_commit if commit else connection.tpc_rollback)()
        else:
            (connection.commit if commit else connection.rollback)()

    def _maybe_in_savepoint(self, connection: Connection) -> None:
        if self._dice.random() > 0.2:
            self._one_event(connection)
            return
        connection.execute("SAVEPOINT event")
        self._one_event(connection)
        connection.execute(self._dice.choice(("ROLLBACK TO event", "RELEASE event")))

    def _one_event(self, connection: Connection) -> None:
        how = self._dice.choices((self._in_turn, self._both_in_one, self._copied, self._newborn), (6, 2, 1, 1))[0]
        # Some aggregates are much busier than others, so that versions wait for each other.
        how(connection, f"aggregate-{int(AGGREGATES * self._dice.random() ** 2)}")

    def _in_turn(self, connection: Connection, aggregate_id: str) -> None:
        event = _event(aggregate_id, _next_version(connection, aggregate_id))
        connection.execute(*statement(event))

    def _both_in_one(self, connection: Connection, aggregate_id: str) -> None:
        event = _event(aggregate_id, 0)
        connection.execute(_BOTH_IN_ONE, {name: getattr(event, name) for name in Event.__slots__})

    def _copied(self, connection: Connection, aggregate_id: str) -> None:
        event = _event(aggregate_id, _next_version(connection, aggregate_id))
        with connection.cursor().copy(_COPY) as copy:
            copy.write_row([getattr(event, name) for name in Event.__slots__ if name != "traceparent"])

    def _newborn(self, connection: Connection, _aggregate_id: str) -> None:
        """The event is the first write of all, before the row of its aggregate, which nobody else knows yet."""
        self._newborns(connection, 1)

    def _newborns(self, connection: Connection, count: int) -> None:
        events = [_event(f"newborn-{uuid4().hex}", 1) for _ in range(count)]
        connection.execute(*statement(*events))
        born = [each.aggregate_id for each in events]
        connection.execute("INSERT INTO aggregate SELECT id, 1 FROM unnest(%s::text[]) AS born (id)", (born,))

    def _dawdle(self) -> None:
        longest = self._dice.choices((0.0, 0.03, 0.3, 2.0), (60, 30, 8, 2))[0]
        if longest:
            time.sleep(self._dice.uniform(0.0, longest))


def _next_version(connection: Connection, aggregate_id: str) -> int:
    row = connection.execute(_NEXT_VERSION, (aggregate_id,)).fetchone()
    assert row is not None
    return int(row[0])


def _event(aggregate_id: str, version: int) -> Event:
    payload = OrderConfirmed(order_id=aggregate_id, invoice_number="1")
    return new_event("order", aggregate_id, version, payload, source="/hammer")
