"""Wake relays when something was committed, instead of letting them find it at their next poll.

A signal is a NOTIFY on a connection of its own, in autocommit, sent by a thread *after* the writer's commit. Inside the
writer's transaction it would take a lock that every committing writer waits for. Signals that come while one is being
sent are one.

Not promised: that a signal arrives. It is lost while the database is away, and behind a pooler that multiplexes
transactions. A lost one costs at most the relay's poll interval; the writer never waits for it and never fails by it.
"""

import select
import threading
import time
from collections.abc import Callable
from typing import Any, Final

import psycopg
from sqlalchemy import Engine, event

from shared.errors import OnceError
from shared.logs import get_logger
from shared.retry import Backoff

CHANNEL: Final = "outbox"
_COALESCE_SECONDS: Final = 0.002
"""Between two signals at least: at any load a few hundred a second."""

Connect = Callable[[], psycopg.Connection[Any]]

log = get_logger(__name__)


class Wakeup:
    """Sends signals. ``wake`` may be called from any thread, and costs a writer a flag."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._connection: psycopg.Connection[Any] | None = None
        self._asked = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._backoff = Backoff(first_seconds=0.1, ceiling_seconds=5.0)

    def wake(self) -> None:
        """Say that something was committed."""
        self._asked.set()
        if self._thread is None:
            self._start()

    def after_transactions_of(self, engine: Engine) -> None:
        """Wake whenever a transaction of this engine has ended: for a consumer, whose every transaction is a batch.

        A connection goes back to its pool after the commit; the engine's own event for commits comes before it.
        """
        event.listen(engine, "checkin", lambda *_: self.wake())

    def _start(self) -> None:
        # At the first use, so in the process that writes: threads do not survive a fork.
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="wakeup", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            self._asked.wait()
            self._asked.clear()
            time.sleep(self._send())

    def _send(self) -> float:
        """Send one signal, and return the seconds until the next may be sent."""
        try:
            if self._connection is None or self._connection.closed:
                self._connection = self._connect()
                # It writes nothing that could be lost, so it need not wait for the disk.
                self._connection.execute("SET synchronous_commit = off")
            self._connection.execute(f"NOTIFY {CHANNEL}")
        except (psycopg.Error, OnceError, OSError) as error:
            if self._connection is not None:
                self._connection.close()
            self._connection = None
            log.info("no signal sent", detail=type(error).__name__)
            return self._backoff.next()
        self._backoff.reset()
        return _COALESCE_SECONDS


def listen(connection: psycopg.Connection[Any]) -> None:
    """Have signals delivered to this connection, which is in autocommit mode."""
    connection.execute(f"LISTEN {CHANNEL}")


def wait_for_signal(connection: psycopg.Connection[Any], seconds: float) -> bool:
    """Wait for a signal, at most so long. Returns whether one came. Raises OperationalError when the server is gone.

    Takes all that have come, so that those of a busy time neither pile up nor wake anybody afterwards. Waits with the
    system's own call: psycopg's counts whole milliseconds and spins through the last one.
    """
    if _take(connection):
        return True
    select.select([connection], [], [], seconds)
    return _take(connection)


def _take(connection: psycopg.Connection[Any]) -> bool:
    return len(list(connection.notifies(timeout=0, stop_after=1))) > 0
