"""The log as the hammer sees it, and a way into it that is as moody as a broker far away."""

import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from services.relay.position import Row
from services.relay.transports import Published
from tests.hammer.fate import Fate


class Log:
    """First copies per aggregate, in the order of their arrival from all relays."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: set[UUID] = set()
        self._firsts: dict[str, list[tuple[int, UUID]]] = {}
        self.copies = 0

    def append(self, rows: Sequence[Row]) -> None:
        with self._lock:
            for row in rows:
                self._note(row.aggregate_id, row.aggregate_version, UUID(row.event_id))

    def note(self, aggregate_id: str, version: int, event_id: UUID) -> None:
        """Take one copy, as it was read from a real log."""
        with self._lock:
            self._note(aggregate_id, version, event_id)

    def _note(self, aggregate_id: str, version: int, event_id: UUID) -> None:
        self.copies += 1
        if event_id not in self._seen:
            self._seen.add(event_id)
            self._firsts.setdefault(aggregate_id, []).append((version, event_id))

    def event_ids(self) -> set[UUID]:
        with self._lock:
            return set(self._seen)

    def inversions(self, existing: set[UUID] | None = None) -> list[str]:
        """Name the aggregates whose first copies are out of order; only among events that exist, if told which."""
        with self._lock:
            firsts = {
                name: [version for version, event_id in copies if existing is None or event_id in existing]
                for name, copies in self._firsts.items()
            }
        return [f"{name} arrived as {versions}" for name, versions in firsts.items() if versions != sorted(versions)]


class MoodyBroker:
    """One relay's way into the log.

    Takes chunks whole, or loses reports, or goes away in the middle of one. It may be slow beyond any lease, so that
    what it takes at last was sent by a relay that has lost its lanes. The relay may die while it waits.
    """

    def __init__(self, log: Log, dice: random.Random, fate: Fate, tally: Counter[str]) -> None:
        self._log = log
        self._dice = dice
        self._fate = fate
        self._tally = tally

    def open(self) -> None:
        """Nothing to make."""

    def probe(self, _deadline_seconds: float) -> str | None:
        """Always there, whatever it does with what it is given."""
        return None

    def publish(self, rows: Sequence[Row], deadline_seconds: float) -> Published:
        if not self._fate.mercy.is_set() and self._dice.random() < self._fate.moods * self._fate.often:
            return self._moody(rows)
        self._log.append(rows)
        return Published(len(rows))

    def close(self) -> None:
        """Nothing is held open."""

    def _moody(self, rows: Sequence[Row]) -> Published:
        arrived = self._dice.randint(0, len(rows))
        mood = self._dice.choice(("prefix", "lost reports", "dies", "late"))
        self._tally[f"broker: {mood}"] += 1
        if mood == "late":
            time.sleep(self._fate.hang_seconds)
            arrived = len(rows)
        self._log.append(rows[:arrived])
        if mood == "dies":
            self._fate.die()
        if mood == "lost reports":
            return Published(self._dice.randint(0, arrived), "some reports never came")
        return Published(arrived, None if arrived == len(rows) else "the broker went away")
