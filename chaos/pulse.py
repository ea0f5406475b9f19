"""How far a run has got, for spectators: a few counts, taken while it runs, never used by the judge."""

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg

from chaos.archive import Archiver
from chaos.deliveries import DeliveryCount
from chaos.journal import Tail
from chaos.load import Tally

_COUNTS: Mapping[str, Mapping[str, str]] = {
    "orders": {"events": "SELECT count(*) FROM outbox"},
    "billing": {
        "events": "SELECT count(*) FROM outbox WHERE destination = 'event'",
        "invoices": "SELECT count(*) FROM invoice",
        "credit_notes": "SELECT count(*) FROM credit_note",
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulse:
    """One look at a run."""

    planned: int = 0
    orders: int = 0
    cancelled: int = 0
    replayed_requests: int = 0
    asked_again: int = 0
    events: int = 0
    copies: int = 0
    distinct: int = 0
    deliveries: int = 0
    suppressed: int = 0
    invoices: int = 0
    credit_notes: int = 0
    mails: int = 0

    @property
    def second_copies(self) -> int:
        return self.copies - self.distinct


class PulseTaker:
    """A thread that looks twice a second and hands each look to the spectator."""

    def __init__(
        self,
        *,
        urls: Mapping[str, str],
        tally: Tally,
        archiver: Archiver,
        deliveries: DeliveryCount,
        mail: Path,
        show: Callable[[Pulse], None],
        every_seconds: float = 0.4,
    ) -> None:
        self._urls = urls
        self._tally = tally
        self._archiver = archiver
        self._deliveries = deliveries
        self._mail = Tail(mail)
        self._mails = 0
        self._show = show
        self._every_seconds = every_seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pulse", daemon=True)
        self._connections: dict[str, psycopg.Connection[tuple[int]]] = {}
        self.last = Pulse(planned=tally.planned)
        self.first_invoice_at: float | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Take one last look and end; idempotent."""
        if self._thread.ident is None or self._stop.is_set():
            return
        self._stop.set()
        self._thread.join(timeout=10.0)
        for connection in self._connections.values():
            connection.close()

    def _run(self) -> None:
        while not self._stop.wait(self._every_seconds):
            self._look()
        self._look()

    def _look(self) -> None:
        self._deliveries.refresh()
        self._mails += sum(1 for _line in self._mail.lines())
        counts = {
            "events": self.last.events,
            "invoices": self.last.invoices,
            "credit_notes": self.last.credit_notes,
        }
        with contextlib.suppress(psycopg.Error):  # a database that is away is part of the show; the last count stays
            counts = self._count()
        if counts["invoices"] and self.first_invoice_at is None:
            self.first_invoice_at = time.time()
        self.last = replace(
            self.last,
            orders=self._tally.placed,
            cancelled=self._tally.cancelled,
            replayed_requests=self._tally.replayed,
            asked_again=self._tally.asked_again,
            copies=self._archiver.copies,
            distinct=len(self._archiver.events),
            deliveries=self._deliveries.delivered,
            suppressed=self._deliveries.suppressed,
            mails=self._mails,
            **counts,
        )
        self._show(self.last)

    def _count(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for database, queries in _COUNTS.items():
            for name, query in queries.items():
                row = self._connection(database).execute(query).fetchone()
                found[name] = found.get(name, 0) + (row[0] if row else 0)
        return found

    def _connection(self, database: str) -> "psycopg.Connection[tuple[int]]":
        connection = self._connections.get(database)
        if connection is None or connection.closed:
            connection = psycopg.connect(self._urls[database], autocommit=True, connect_timeout=2)
            self._connections[database] = connection
        return connection
