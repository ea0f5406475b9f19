"""The parking lot: what could not be processed, kept with all that is needed to try again or to give it up.

There are two lots. The *outbox's* has rows that their receiver will never take; the *inbox's* has deliveries that a
consumer can never apply. Both answer to the same few verbs, so one set of admin endpoints and one command serve both.

    parked      it failed by itself, and waits for a person
    held        it is sound, but an earlier one of its aggregate is parked, and it must not overtake that
    redriving   a person has asked for another try; whoever owns the work will make it, in the aggregate's order
    discarded   a person has given it up, and said why

Invariant: an entry leaves its lot only together with its effect. Nothing is dropped from it in silence, and what a
person decided stays on record.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Final, Literal, Protocol
from uuid import UUID

from sqlalchemy import Connection, RowMapping, TextClause

from shared.errors import OnceError, RefusedError

LotName = Literal["outbox", "inbox"]
State = Literal["parked", "held", "redriving", "discarded"]
Headers = tuple[tuple[str, bytes | None], ...]
"""As a message carries them: a name may come twice, and a value need not be text."""


class UnknownEntryError(OnceError):
    def __init__(self, lot: str, entry_id: str) -> None:
        super().__init__(
            f"The {lot}'s parking lot has no entry {entry_id!r}. It may have been applied by now; "
            "`once parked ls` lists what is there."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing in a lot. What its message did not say, or said unreadably, is None."""

    lot: LotName
    id: str
    """Unique in its lot, and in the order in which entries arrived there."""
    event_id: UUID | None
    type: str | None
    aggregate_type: str | None
    aggregate_id: str | None
    aggregate_version: int | None
    state: State
    attempts: int
    error: str
    parked_at: datetime
    destination: str | None = None
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None
    headers: Headers = ()
    payload: bytes | None = None
    """Only where one entry is asked for: it may be large."""
    discarded_reason: str | None = None


class Lot(Protocol):
    """What can be done with the entries of a lot. All through the caller's connection; nothing commits."""

    name: LotName

    def entries(self, connection: Connection, *, limit: int, after: str | None = None) -> list[Entry]:
        """List entries in the order of their arrival, from behind the id ``after`` on."""
        ...

    def entry(self, connection: Connection, entry_id: str) -> Entry:
        """Return an entry whole. Raises UnknownEntryError."""
        ...

    def redrive(self, connection: Connection, entry_id: str) -> None:
        """Ask for another try, in the aggregate's order. Raises UnknownEntryError, or RefusedError with the reason."""
        ...

    def discard(self, connection: Connection, entry_id: str, reason: str) -> None:
        """Give an entry up for good and let go what was held behind it.

        Raises UnknownEntryError, or RefusedError with the reason.
        """
        ...


_LONGEST_ID: Final = 18


class TableLot:
    """A lot whose entries are rows. A state that does not fit makes its statement change nothing, and says why."""

    name: LotName
    list_entries: ClassVar[TextClause]
    """Takes ``after``, an id, and ``limit``."""
    show_entry: ClassVar[TextClause]
    """Takes ``id``, as the two below."""
    ask_for_redrive: ClassVar[TextClause]
    give_up: ClassVar[TextClause]
    """Takes a ``reason`` besides."""
    why_not_redriven: ClassVar[Mapping[State, str]]
    why_not_discarded: ClassVar[Mapping[State, str]]

    @staticmethod
    @abstractmethod
    def read(row: RowMapping) -> Entry:
        """Make an entry of a row."""

    def entries(self, connection: Connection, *, limit: int, after: str | None = None) -> list[Entry]:
        rows = connection.execute(self.list_entries, {"after": self._id(after) if after else 0, "limit": limit})
        return [self.read(row) for row in rows.mappings()]

    def entry(self, connection: Connection, entry_id: str) -> Entry:
        row = connection.execute(self.show_entry, {"id": self._id(entry_id)}).mappings().one_or_none()
        if row is None:
            raise UnknownEntryError(self.name, entry_id)
        return self.read(row)

    def redrive(self, connection: Connection, entry_id: str) -> None:
        if not connection.execute(self.ask_for_redrive, {"id": self._id(entry_id)}).rowcount:
            raise RefusedError(self.why_not_redriven[self.entry(connection, entry_id).state])

    def discard(self, connection: Connection, entry_id: str, reason: str) -> None:
        if not reason.strip():
            raise RefusedError("Giving an event up needs a reason, which stays on record. Say one.")
        if not connection.execute(self.give_up, {"id": self._id(entry_id), "reason": reason.strip()}).rowcount:
            raise RefusedError(self.why_not_discarded[self.entry(connection, entry_id).state])

    def _id(self, entry_id: str) -> int:
        if not (entry_id.isascii() and entry_id.isdecimal() and len(entry_id) <= _LONGEST_ID):
            raise UnknownEntryError(self.name, entry_id)
        return int(entry_id)
