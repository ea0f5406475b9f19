"""Whether a run has come to rest: nothing waits to be published, consumed or sent.

Looked at from outside, without the relay's own opinion of its position. Two looks in a row have to agree, because one
look takes its counts one after the other. It bounds a wait; what was reached is judged from the evidence.
"""

import threading
import time
from collections.abc import Callable, Mapping
from gettext import gettext as _
from pathlib import Path

import psycopg
from confluent_kafka import KafkaException

from chaos import journal
from chaos.archive import Archiver
from infra.kafka.marks import Marks

LOOK_AGAIN_SECONDS = 0.3
LONGEST_SECONDS = 600.0
UNKNOWN = 2**62
"""Stands for what could not be counted."""

_ROWS = """
SELECT count(*) FILTER (WHERE destination = 'event') - (SELECT count(*) FROM outbox_parked WHERE state <> 'discarded'),
       count(*) FILTER (WHERE destination = 'command') FROM outbox
"""
_INVOICES = "SELECT count(*) FROM invoice"
_SENT = "SELECT count(*) FROM sent_email WHERE state = 'sent'"


class _Patience:
    """Over when nothing has become less for a while, or after the longest wait of all."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._least = UNKNOWN + 1
        self._since = time.monotonic()
        self._end = self._since + LONGEST_SECONDS

    def is_over(self, left: int) -> bool:
        now = time.monotonic()
        if left < self._least:
            self._least, self._since = left, now
        return now > self._end or now - self._since > self._seconds


class Rest:
    """Looks at one run."""

    def __init__(
        self, *, urls: Mapping[str, str], kafka: str, groups: Mapping[str, list[str]], archiver: Archiver, mail: Path
    ) -> None:
        """``groups``: consumer group → topics, both as the broker knows them."""
        self._urls = urls
        self._groups = groups
        self._archiver = archiver
        self._mail = mail
        self._marks = Marks(kafka)

    def await_(self, seconds: float, abandoned: threading.Event, say: Callable[[str], None]) -> bool:
        """Wait until two looks agree that nothing is left, or what is left has not become less for so many seconds."""
        patience = _Patience(seconds)
        quiet: int | None = None
        while not abandoned.is_set():
            left, total = self._try_to_look()
            if not any(left.values()):
                if quiet == total:
                    return True
                quiet = total
            else:
                quiet = None
                say(", ".join(what if count == UNKNOWN else f"{count} {what}" for what, count in left.items() if count))
            if patience.is_over(sum(left.values())):
                return False
            abandoned.wait(LOOK_AGAIN_SECONDS)
        return False

    def _try_to_look(self) -> tuple[dict[str, int], int]:
        try:
            return self.look()
        except (psycopg.Error, KafkaException) as error:
            return {str(error).splitlines()[0]: UNKNOWN}, -1

    def look(self) -> tuple[dict[str, int], int]:
        """What is left to do, by kind, and how many events there are in all."""
        events, commands = self._written()
        left = {
            _("events not in the log"): max(0, events - len(self._archiver.events)),
            _("messages not consumed"): self._lag(),
            _("e-mails not sent"): max(0, commands - min(self._arrived(), self._recorded())),
        }
        return left, events + commands

    def _written(self) -> tuple[int, int]:
        events = commands = 0
        for database in ("orders", "billing"):
            row = self._row(database, _ROWS)
            events, commands = events + row[0], commands + row[1]
        # An invoice whose command was lost is due its mail all the same.
        return events, max(commands, self._row("billing", _INVOICES)[0])

    def _recorded(self) -> int:
        return self._row("notifications", _SENT)[0]

    def _row(self, database: str, query: str) -> tuple[int, ...]:
        with psycopg.connect(self._urls[database], autocommit=True, connect_timeout=2) as connection:
            row: tuple[int, ...] | None = connection.execute(query).fetchone()
            assert row is not None
            return row

    def _arrived(self) -> int:
        return len({line["message_id"] for line in journal.rows(self._mail)})

    def _lag(self) -> int:
        return sum(self._lag_of(group, topics) for group, topics in self._groups.items())

    def _lag_of(self, group: str, topics: list[str]) -> int:
        ends = self._marks.ends(self._marks.partitions(topics))
        committed = self._marks.committed(group, ends)
        return sum(max(0, end - (committed.get(place) or 0)) for place, end in ends.items())
