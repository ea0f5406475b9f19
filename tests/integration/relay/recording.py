"""A transport that remembers instead of sending: the log, as a relay's rows would stand in it."""

import random
import threading
from collections.abc import Sequence
from uuid import UUID

from services.relay.position import Row
from services.relay.transports import Published


class Log:
    """The order in which rows of all relays arrived. Shared by their transports."""

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._lock = threading.Lock()

    def append(self, rows: Sequence[Row]) -> None:
        with self._lock:
            self._rows.extend(rows)

    def rows(self) -> list[Row]:
        with self._lock:
            return list(self._rows)

    def event_ids(self) -> set[UUID]:
        return {UUID(row.event_id) for row in self.rows()}

    def first_copies(self) -> dict[str, list[int]]:
        """Return per aggregate the versions in the order in which they arrived first."""
        seen: set[object] = set()
        versions: dict[str, list[int]] = {}
        for row in self.rows():
            if row.event_id not in seen:
                seen.add(row.event_id)
                versions.setdefault(row.aggregate_id, []).append(row.aggregate_version)
        return versions


class RecordingTransport:
    """Takes whole chunks, or, now and then, only the front of one, as a broker that goes away would."""

    def __init__(self, log: Log, seed: int, failure_rate: float = 0.0) -> None:
        self._log = log
        self._random = random.Random(seed)
        self._failure_rate = failure_rate

    def open(self) -> None:
        """Nothing to make."""

    def probe(self, deadline_seconds: float) -> str | None:
        return None

    def publish(self, rows: Sequence[Row], deadline_seconds: float) -> Published:
        count = len(rows)
        if self._random.random() < self._failure_rate:
            count = self._random.randrange(len(rows))
            self._log.append(rows[:count])
            return Published(count, "the broker went away")
        self._log.append(rows)
        return Published(count)

    def close(self) -> None:
        """Nothing is held open."""
