"""The inbox's parking lot, as a consumer works with it.

Invariant: while a key has an entry here that is not discarded, its newer deliveries come here too (policy ``hold``), so
none overtakes. All is written in the transaction of the effects that surround it; nothing here commits.

The lot is read *after* the inbox has recorded the batch. That insert waits for whoever has the same event in hand, and
a later statement sees what that one has committed: applied, or parked.

A key is what holds: it is the aggregate's id, a topic has one type of aggregate, and it can be read where headers
cannot. A message without a key holds nothing, since nothing says what would have to wait.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Literal
from uuid import UUID

from sqlalchemy import Connection, RowMapping

from shared.dead_letters import Notices
from shared.envelope import Glimpse, glimpse
from shared.errors import OnceError, PermanentError
from shared.inbox import Delivery
from shared.inbox_parking import headers_from_json, headers_to_json
from shared.parking import Headers
from shared.receiving import Place, Received, Unreadable, read

MOST_TRIES: Final = 5
"""So often may an event make the process fail before it is parked."""
MOST_DEATHS: Final = 3
"""So often may an event that is alone in hand kill its process, without an exception, before it is parked."""
MOST_DUE: Final = 100
_LONGEST_ERROR: Final = 2_000
_BEHIND: Final = "an earlier event of its aggregate is in the lot"


class DeadlyError(PermanentError):
    def __init__(self) -> None:
        super().__init__(
            f"its process died {MOST_DEATHS} times while this message alone was applied, and nothing was raised: "
            "it may need too much memory, or break a native library"
        )


class Policy(StrEnum):
    """What becomes of an aggregate's later events while an earlier one is parked."""

    HOLD = "hold"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class Aside:
    """A delivery that is to go to the lot, and why."""

    received: Received
    state: Literal["parked", "held"]
    error: str
    attempts: int


@dataclass(frozen=True, slots=True)
class Entry:
    """What is needed to apply an entry of the lot again."""

    id: int
    topic: str
    partition: int
    offset: int
    key: bytes | None
    headers: Headers
    payload: bytes | None
    state: str = "redriving"

    def received_by(self, member: str, generation: int) -> Received:
        """Read it again, as if it had just come."""
        place = Place(self.topic, self.partition, self.offset, member, generation)
        return read(place, self.key, self.headers, self.payload)


@dataclass(slots=True)
class View:
    """What the lot has to do with one batch."""

    event_ids: frozenset[UUID] = frozenset()
    places: frozenset[tuple[str, int, int]] = frozenset()
    holding: set[tuple[str, bytes]] = field(default_factory=set)

    def has(self, received: Received) -> bool:
        if isinstance(received, Delivery):
            return received.envelope.event_id in self.event_ids
        return (received.topic, received.partition, received.offset) in self.places

    def holds(self, received: Received) -> bool:
        return received.key is not None and (received.topic, received.key) in self.holding


_TOLD: Final = """
id, state, topic, partition, "offset", event_id, type, aggregate_type, aggregate_id, aggregate_version, attempts, error
"""
"""What a notice says of an entry, and its state."""

_IS_USED: Final = "SELECT EXISTS (SELECT FROM inbox_parked WHERE consumer = %(consumer)s)"
_KNOWN: Final = """
SELECT event_id FROM inbox_parked WHERE consumer = %(consumer)s AND event_id = ANY(%(event_id)s::uuid[])
"""
_KNOWN_PLACES: Final = """
SELECT topic, partition, "offset" FROM inbox_parked
JOIN unnest(%(topic)s::text[], %(partition)s::int[], %(offset)s::bigint[]) AS given (topic, partition, "offset")
  USING (topic, partition, "offset")
WHERE consumer = %(consumer)s AND event_id IS NULL
"""
_HOLDING: Final = """
SELECT topic, key FROM unnest(%(topic)s::text[], %(key)s::bytea[]) AS given (topic, key)
WHERE EXISTS (SELECT FROM inbox_parked AS entry WHERE entry.consumer = %(consumer)s AND entry.topic = given.topic
              AND entry.key = given.key AND entry.state <> 'discarded')
"""
# In the order of the batch: the ids are what a redrive goes by.
_PUT: Final = f"""
INSERT INTO inbox_parked (consumer, topic, partition, "offset", key, headers, payload, event_id, type, aggregate_type,
                          aggregate_id, aggregate_version, state, attempts, error)
SELECT %(consumer)s, topic, partition, "offset", key, headers, payload, event_id, type, aggregate_type, aggregate_id,
       aggregate_version, state, attempts, error
FROM unnest(%(topic)s::text[], %(partition)s::int[], %(offset)s::bigint[], %(key)s::bytea[], %(headers)s::json[],
            %(payload)s::bytea[], %(event_id)s::uuid[], %(type)s::text[], %(aggregate_type)s::text[],
            %(aggregate_id)s::text[], %(aggregate_version)s::int[], %(state)s::text[], %(attempts)s::int[],
            %(error)s::text[]) WITH ORDINALITY
  AS aside (topic, partition, "offset", key, headers, payload, event_id, type, aggregate_type, aggregate_id,
            aggregate_version, state, attempts, error, arrival)
ORDER BY arrival
ON CONFLICT (consumer, topic, partition, "offset") WHERE event_id IS NULL DO NOTHING
RETURNING {_TOLD}
"""  # noqa: S608  # a constant of ours
_AT: Final = 'consumer = %(consumer)s AND topic = %(topic)s AND partition = %(partition)s AND "offset" = %(offset)s'
_TRIES: Final = f"SELECT attempts FROM inbox_attempts WHERE {_AT}"  # noqa: S608  # a constant of ours
_FORGET_TRIES: Final = f"DELETE FROM inbox_attempts WHERE {_AT}"  # noqa: S608  # a constant of ours
_COUNT_TRY: Final = """
INSERT INTO inbox_attempts AS known (consumer, topic, partition, "offset", attempts, last_error)
VALUES (%(consumer)s, %(topic)s, %(partition)s, %(offset)s, 1, %(error)s)
ON CONFLICT (consumer, topic, partition, "offset") DO UPDATE
  SET attempts = known.attempts + 1, last_error = excluded.last_error, last_at = clock_timestamp()
RETURNING attempts
"""

# By the entry, since nothing of it has been read yet. One that is gone, or in another member's hand, is not counted:
# that member has this row of the tries, too, and whoever wanted it would wait for as long as the other takes.
_COUNT_REDRIVE: Final = """
INSERT INTO inbox_attempts AS known (consumer, topic, partition, "offset", attempts, last_error)
SELECT consumer, topic, partition, "offset", 1, %(error)s
FROM (SELECT * FROM inbox_parked WHERE id = %(id)s FOR UPDATE SKIP LOCKED) AS entry
ON CONFLICT (consumer, topic, partition, "offset") DO UPDATE
  SET attempts = known.attempts + 1, last_error = excluded.last_error, last_at = clock_timestamp()
RETURNING attempts
"""

_COUNTS: Final = "SELECT state, count(*) AS entries FROM inbox_parked WHERE consumer = %(consumer)s GROUP BY state"
_FIRST: Final = """
NOT EXISTS (SELECT FROM inbox_parked AS earlier WHERE earlier.consumer = entry.consumer AND earlier.topic = entry.topic
            AND earlier.key = entry.key AND earlier.id < entry.id AND earlier.state <> 'discarded')
"""
_DUE: Final = f"""
SELECT id FROM inbox_parked AS entry
WHERE consumer = %(consumer)s AND state IN ('held', 'redriving') AND (%(any)s OR {_FIRST}) ORDER BY id LIMIT {MOST_DUE}
"""  # noqa: S608  # constants of ours
# Asked again under the entry's lock: another member, or a person, may have been here since it was found to be due.
_TAKE: Final = f"""
SELECT id, topic, partition, "offset", key, headers, payload, state FROM inbox_parked AS entry
WHERE id = %(id)s AND consumer = %(consumer)s AND state IN ('held', 'redriving') AND (%(any)s OR {_FIRST})
FOR UPDATE SKIP LOCKED
"""  # noqa: S608  # constants of ours
_NEXT: Final = """
SELECT id FROM inbox_parked
WHERE consumer = %(consumer)s AND topic = %(topic)s AND key = %(key)s AND state <> 'discarded' ORDER BY id LIMIT 1
"""
_REMOVE: Final = "DELETE FROM inbox_parked WHERE id = %(id)s"
_PARK_AGAIN: Final = f"""
UPDATE inbox_parked SET state = 'parked', attempts = attempts + 1, error = %(error)s WHERE id = %(id)s
RETURNING {_TOLD}
"""  # noqa: S608  # a constant of ours


class Parking:
    """One consumer's lot."""

    def __init__(self, consumer: str, policy: Policy, notices: Notices | None = None) -> None:
        """No ``notices``: the database has no outbox that could tell of what is parked."""
        self._consumer = consumer
        self._policy = policy
        self._notices = notices

    # Putting away

    def look(self, connection: Connection, batch: Sequence[Received]) -> View:
        """Read what concerns these deliveries; one cheap statement while the lot is empty."""
        if not self._all(connection, _IS_USED)[0]["exists"]:
            return View()
        known = [d.envelope.event_id for d in batch if isinstance(d, Delivery)]
        unreadable = [d for d in batch if isinstance(d, Unreadable)]
        view = View(frozenset(row["event_id"] for row in self._all(connection, _KNOWN, event_id=known)))
        if unreadable:
            rows = self._all(connection, _KNOWN_PLACES, **_columns(unreadable, "topic", "partition", "offset"))
            view.places = frozenset((row["topic"], row["partition"], row["offset"]) for row in rows)
        if self._policy is Policy.HOLD:
            keyed = [d for d in batch if d.key is not None]
            rows = self._all(connection, _HOLDING, **_columns(keyed, "topic", "key"))
            view.holding = {(row["topic"], bytes(row["key"])) for row in rows}
        return view

    def hold_behind(self, view: View, received: Received) -> None:
        """Note that what comes behind this one has to wait, where that is the policy."""
        if self._policy is Policy.HOLD and received.key is not None:
            view.holding.add((received.topic, received.key))

    def behind(self, received: Received) -> Aside:
        return Aside(received, "held", _BEHIND, 0)

    def put(self, connection: Connection, asides: Sequence[Aside]) -> None:
        """Write entries, in this order, and tell of those that are parked."""
        if not asides:
            return
        rows = [_row(aside) for aside in asides]
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        written = self._all(connection, _PUT, **columns)
        headers = {(a.received.topic, a.received.partition, a.received.offset): a.received.headers for a in asides}
        self._tell(
            connection,
            [
                (row, headers[row["topic"], row["partition"], row["offset"]])
                for row in written
                if row["state"] == "parked"
            ],
        )

    # What makes the process fail

    def tries(self, connection: Connection, received: Received) -> int:
        """Return how often this one has made a process fail."""
        found = self._all(connection, _TRIES, **_place(received))
        return int(found[0]["attempts"]) if found else 0

    def count_try(self, connection: Connection, received: Received, error: BaseException) -> int:
        given = {"consumer": self._consumer, "error": words(error), **_place(received)}
        return int(connection.exec_driver_sql(_COUNT_TRY, given).scalar_one())

    def count_redrive(self, connection: Connection, entry_id: int) -> int | None:
        """Count a try before it is made: it may end its process. Returns how many there were before, or None where
        there is nothing to try."""
        counted = connection.exec_driver_sql(_COUNT_REDRIVE, {"id": entry_id, "error": words(DeadlyError())}).scalar()
        return None if counted is None else int(counted) - 1

    def forget_tries(self, connection: Connection, received: Received | Entry) -> None:
        connection.exec_driver_sql(_FORGET_TRIES, {"consumer": self._consumer, **_place(received)})

    # Applying again

    def counts(self, connection: Connection) -> dict[str, int]:
        """Return the number of entries in each state."""
        return {row["state"]: row["entries"] for row in self._all(connection, _COUNTS)}

    def due(self, connection: Connection) -> list[int]:
        """Return entries to be applied now, oldest first: the first of its key, unless that waits for a person."""
        return [row["id"] for row in self._all(connection, _DUE, any=self._policy is Policy.SKIP)]

    def take(self, connection: Connection, entry_id: int) -> Entry | None:
        """Lock an entry that is due. None: it is not, or another member has it in hand."""
        found = self._all(connection, _TAKE, id=entry_id, any=self._policy is Policy.SKIP)
        return _entry(found[0]) if found else None

    def next_of(self, connection: Connection, entry: Entry) -> int | None:
        """Return the first entry of the same key as it is now."""
        if entry.key is None or self._policy is Policy.SKIP:
            return None
        found = self._all(connection, _NEXT, topic=entry.topic, key=entry.key)
        return found[0]["id"] if found else None

    def remove(self, connection: Connection, entry: Entry) -> None:
        connection.exec_driver_sql(_REMOVE, {"id": entry.id})

    def park_again(self, connection: Connection, entry: Entry, error: BaseException) -> None:
        """Park an entry that failed. One that was only held has had no notice yet."""
        (row,) = self._all(connection, _PARK_AGAIN, id=entry.id, error=words(error))
        if entry.state == "held":
            self._tell(connection, [(row, entry.headers)])

    def _tell(self, connection: Connection, parked: Sequence[tuple[RowMapping, Headers]]) -> None:
        if self._notices is not None:
            self._notices.tell(connection, parked)

    def _all(self, connection: Connection, statement: str, **given: Any) -> Sequence[RowMapping]:
        return connection.exec_driver_sql(statement, {"consumer": self._consumer, **given}).mappings().all()


def words(error: BaseException) -> str:
    """Return what an error says, as the lot can keep it; of a database's words the first line, without the row."""
    cause = getattr(error, "orig", None) or error
    said = next(iter(str(cause).splitlines()), "")
    if not isinstance(cause, OnceError):
        said = f"{type(cause).__name__}: {said}"
    return said.replace("\0", "\\0").encode(errors="backslashreplace").decode()[:_LONGEST_ERROR]


def _columns(batch: Iterable[Received], *names: str) -> dict[str, list[Any]]:
    rows = list(batch)
    return {name: [getattr(row, name) for row in rows] for name in names}


def _place(received: Received | Entry) -> dict[str, Any]:
    return {"topic": received.topic, "partition": received.partition, "offset": received.offset}


def _row(aside: Aside) -> dict[str, Any]:
    received = aside.received
    says = received.envelope if isinstance(received, Delivery) else glimpse(received.headers)
    return {
        **_place(received),
        "key": received.key,
        "headers": headers_to_json(received.headers),
        "payload": received.envelope.payload if isinstance(received, Delivery) else received.value,
        "event_id": received.envelope.event_id if isinstance(received, Delivery) else None,
        **{name: getattr(says, name) for name in Glimpse.__slots__},
        "state": aside.state,
        "attempts": aside.attempts,
        "error": aside.error,
    }


def _entry(row: RowMapping) -> Entry:
    return Entry(
        row["id"], row["topic"], row["partition"], row["offset"], row["key"], headers_from_json(row["headers"]),
        row["payload"], row["state"],
    )  # fmt: skip
