"""Find the delivery that kills its process: without an exception, so that nobody can say which one it was.

A mark before every event would find it, at the price of a write an event. Here a member notes, once for each partition
that it is given, what stretch of the log its first batch covers, and strikes the note out when the broker has accepted
an offset behind it. A member that begins within a stretch that is still noted follows one that died there. From the
third time on, deliveries go one at a time, and each is named in ``inbox_attempts`` before it is tried; one that was
named three times is parked instead.

Invariant: a delivery is condemned only for deaths during which it was alone in hand. A failure that comes as an
exception is judged by ``shared.failures``, and takes back what was noted of it here.

Not promised: that an innocent is never condemned. Whoever kills from outside three times, each time with the same
delivery alone in hand, has it parked; it can be redriven.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from confluent_kafka import TopicPartition
from sqlalchemy import Engine

from shared import database
from shared.consumer_parking import MOST_DEATHS, DeadlyError, Parking, words
from shared.logs import get_logger
from shared.offset_commit import OffsetCommit
from shared.receiving import Received

DOUBTFUL: Final = 3
"""So often may a stretch be begun before its deliveries go one at a time."""

Partition = tuple[str, int]

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Offsets that were begun, up to the last one."""

    last: int
    times: int

    @property
    def is_doubtful(self) -> bool:
        return self.times >= DOUBTFUL


_WITHIN: Final = "excluded.first_offset BETWEEN known.first_offset AND known.last_offset"
# The wider of two stretches stands: the member before may have had more in hand than this one.
_BEGIN: Final = f"""
INSERT INTO inbox_begun AS known (consumer, topic, partition, first_offset, last_offset, times)
SELECT %(consumer)s, *, 1
FROM unnest(%(topic)s::text[], %(partition)s::int[], %(first)s::bigint[], %(last)s::bigint[])
  AS given (topic, partition)
ORDER BY topic, partition
ON CONFLICT (consumer, topic, partition) DO UPDATE SET
  times = CASE WHEN {_WITHIN} THEN known.times ELSE 0 END + 1,
  first_offset = CASE WHEN {_WITHIN} THEN known.first_offset ELSE excluded.first_offset END,
  last_offset = greatest(excluded.last_offset, CASE WHEN {_WITHIN} THEN known.last_offset END),
  begun_at = clock_timestamp()
RETURNING topic, partition, last_offset, times
"""  # noqa: S608  # constants of ours
_STRIKE_OUT: Final = """
DELETE FROM inbox_begun USING unnest(%(topic)s::text[], %(partition)s::int[]) AS given (topic, partition)
WHERE consumer = %(consumer)s AND inbox_begun.topic = given.topic AND inbox_begun.partition = given.partition
"""


class Caution:
    """One member's. Writes in transactions of its own, and none at all while everything goes well."""

    def __init__(self, engine: Engine, parking: Parking, consumer: str) -> None:
        self._engine = engine
        self._parking = parking
        self._consumer = consumer
        self._fresh: set[Partition] = set()
        self._begun: dict[Partition, Stretch] = {}
        self._named: Received | None = None

    def given(self, partitions: Iterable[TopicPartition]) -> None:
        self._fresh |= {(each.topic, each.partition) for each in partitions}

    def taken(self, partitions: Iterable[TopicPartition]) -> None:
        for each in partitions:
            self._fresh.discard((each.topic, each.partition))
            self._begun.pop((each.topic, each.partition), None)

    def begin(self, batch: Sequence[Received]) -> bool:
        """Note what this batch is the first of; tell whether its deliveries should go one at a time."""
        if spans := _spans(each for each in batch if (each.topic, each.partition) in self._fresh):
            self._begin(spans)
        return any(stretch.is_doubtful for stretch in self._begun.values())

    def end(self, offsets: OffsetCommit) -> None:
        """Strike out the stretches that are behind an offset which the broker has accepted."""
        if over := [place for place, stretch in self._begun.items() if offsets.accepted(*place) > stretch.last]:
            self._strike_out(over)

    def name(self, received: Received) -> int:
        """Name a delivery before it is tried alone. Returns how often it killed before."""
        with database.transaction(self._engine) as connection:
            if self._named is received:  # tried in vain by this very process, since its database was away
                return self._parking.tries(connection, received) - 1
            deaths = self._parking.tries(connection, received)
            if deaths < MOST_DEATHS:
                self._parking.count_try(connection, received, DeadlyError())
                self._named = received
        return deaths

    def survived(self, received: Received) -> None:
        """Forget a delivery that was applied or parked."""
        self._named = None
        with database.transaction(self._engine) as connection:
            self._parking.forget_tries(connection, received)

    def excuse(self) -> None:
        """Take back what was noted, as well as it goes: this process ends by an exception, which says more."""
        if not self._begun and self._named is None:
            return
        try:
            self._strike_out(list(self._begun))
            if self._named is not None:
                with database.transaction(self._engine) as connection:
                    self._parking.forget_tries(connection, self._named)
        except Exception as error:  # noqa: BLE001  # the one that ends the process must not be hidden by this one
            log.warning("a note of what was begun stays", consumer=self._consumer, detail=words(error))

    def _begin(self, spans: Mapping[Partition, tuple[int, int]]) -> None:
        given = {
            **_columns(spans),
            "first": [first for first, _ in spans.values()],
            "last": [last for _, last in spans.values()],
        }
        with database.transaction(self._engine) as connection:
            rows = connection.exec_driver_sql(_BEGIN, {"consumer": self._consumer, **given}).all()
        self._begun |= {(row.topic, row.partition): Stretch(row.last_offset, row.times) for row in rows}
        self._fresh -= spans.keys()
        for row in rows:
            if row.times >= DOUBTFUL:
                log.warning("processes have died here: one delivery at a time", consumer=self._consumer,
                            topic=row.topic, partition=row.partition, up_to=row.last_offset)  # fmt: skip

    def _strike_out(self, places: Sequence[Partition]) -> None:
        with database.transaction(self._engine) as connection:
            connection.exec_driver_sql(_STRIKE_OUT, {"consumer": self._consumer, **_columns(places)})
        for place in places:
            self._begun.pop(place, None)


def _spans(batch: Iterable[Received]) -> dict[Partition, tuple[int, int]]:
    """Return the first and the last offset of each partition; within one they ascend."""
    spans: dict[Partition, tuple[int, int]] = {}
    for each in batch:
        first, _ = spans.get((each.topic, each.partition), (each.offset, each.offset))
        spans[each.topic, each.partition] = first, each.offset
    return spans


def _columns(places: Iterable[Partition]) -> dict[str, list[object]]:
    rows = list(places)
    return {"topic": [topic for topic, _ in rows], "partition": [partition for _, partition in rows]}
