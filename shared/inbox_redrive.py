"""Apply parked deliveries again: those that a person has asked for, and those that nothing holds any more.

Invariant: the entries of a key leave the lot in their order of arrival, each in the transaction of its effect. One that
fails again is parked again, and what is behind it stays held. Several members may do this at once: an entry is worked
on under its row's lock, and the inbox decides between it and a redelivery of the same event.
"""

import time
from typing import Final

from prometheus_client import Counter, Gauge
from sqlalchemy import Connection, Engine

from shared import database
from shared.applying import Applier, effects
from shared.consumer_parking import MOST_DEATHS, DeadlyError, Entry, Parking, words
from shared.failures import Failure, failure_of
from shared.logs import get_logger
from shared.receiving import Receiver

LOOK_SECONDS: Final = 1.0
STEP_SECONDS: Final = 0.5
"""So long at most the log waits, or a little longer, by the entry in hand."""

IN_LOT: Final = Gauge("consumer_parked", "Entries in the group's parking lot, all members' alike", ["group", "state"])
REDRIVEN: Final = Counter("consumer_events_redriven_total", "Parked events that had their effect at last", ["group"])
STATES: Final = ("parked", "held", "redriving", "discarded")

log = get_logger(__name__)


class Redriver:
    """Works in the consumer's own thread, between two batches."""

    def __init__(self, *, engine: Engine, applier: Applier, parking: Parking, receiver: Receiver, group: str) -> None:
        self._engine = engine
        self._applier = applier
        self._parking = parking
        self._receiver = receiver
        self._group = group
        self._next_look = 0.0
        self._named: dict[int, int] = {}
        REDRIVEN.labels(group)

    def step(self) -> None:
        """Look about once a second, and apply what is due, for a while."""
        begun = time.monotonic()
        if begun < self._next_look:
            return
        try:
            due = self._look()
            # A lot that is slow to read, since much is in it, is read less often.
            self._next_look = time.monotonic() + max(LOOK_SECONDS, 20 * (time.monotonic() - begun))
            self._redrive(due, time.monotonic() + STEP_SECONDS)
        except Exception as error:
            if failure_of(error) is not Failure.TRANSIENT:
                raise
            self._next_look = time.monotonic() + LOOK_SECONDS
            log.warning("redrive put off, the database is away", group=self._group, detail=words(error))

    def _look(self) -> list[int]:
        with database.transaction(self._engine) as connection:
            counts = self._parking.counts(connection)
            for state in STATES:
                IN_LOT.labels(self._group, state).set(counts.get(state, 0))
            return self._parking.due(connection) if counts.get("held") or counts.get("redriving") else []

    def _redrive(self, due: list[int], end: float) -> None:
        for first in due:
            following: int | None = first
            while following is not None:
                if time.monotonic() > end:
                    self._next_look = 0.0  # there is more to do: right after the next batch
                    return
                following = self._redrive_one(following)

    def _redrive_one(self, entry_id: int) -> int | None:
        """Try one entry. Returns what of its key comes next, if this one has left the lot."""
        deaths = self._name(entry_id)
        if deaths is None:
            return None
        with effects(self._engine) as connection:
            entry = self._parking.take(connection, entry_id)
            if entry is None:
                return None
            self._parking.forget_tries(connection, entry)
            applied = self._applied(connection, entry, deaths)
            if applied:
                self._parking.remove(connection, entry)
            following = self._parking.next_of(connection, entry) if applied else None
        del self._named[entry_id]
        if not applied:
            return None
        REDRIVEN.labels(self._group).inc()
        log.info("redriven", group=self._group, **about(entry))
        return following

    def _name(self, entry_id: int) -> int | None:
        """Note that an entry is tried, which may end this process. Returns how often it has ended others."""
        if entry_id in self._named:  # it was tried in vain by this very process: its database was away
            return self._named[entry_id]
        with database.transaction(self._engine) as connection:
            deaths = self._parking.count_redrive(connection, entry_id)
        if deaths is not None:
            self._named[entry_id] = deaths
        return deaths

    def _applied(self, connection: Connection, entry: Entry, deaths: int) -> bool:
        received = entry.received_by(self._receiver.member(), self._receiver.generation())
        try:
            with connection.begin_nested():
                if deaths >= MOST_DEATHS:
                    raise DeadlyError
                self._applier.again(connection, received)
        except Exception as error:
            if failure_of(error) in (Failure.TRANSIENT, Failure.STOP):
                raise
            # Also what looks like a bug: a person has asked for this try, and reads here what came of it.
            log.warning("parked again", group=self._group, detail=words(error), **about(entry))
            self._parking.park_again(connection, entry, error)
            return False
        return True


def about(entry: Entry) -> dict[str, object]:
    """Name an entry in a log line."""
    return {"entry": entry.id, "topic": entry.topic, "partition": entry.partition, "offset": entry.offset}
