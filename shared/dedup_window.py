"""For how long an inbox knows what it has seen, and so how old an event may be when it comes again.

Invariant: an event is applied only while the inbox would still know it. What is older is refused, whether it was ever
seen or not: its day may have been dropped, and then nobody could tell it from a new one.

An event's age is that of its id, a UUID of version 7, which was made with it; a republished or replayed copy is as old
as the first. An id without a time of its own is never beyond the window.

Not promised: that clocks agree. A producer whose clock is days behind writes events that are refused.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from shared.errors import ConfigurationError, PermanentError

DEDUP_WINDOW_DAYS: Final = 14
LONGEST_REPLAY_DAYS: Final = 7

_MILLISECONDS_SHIFT: Final = 80
"""The first 48 of the 128 bits of a UUIDv7 are milliseconds since 1970 (RFC 9562, section 5.7)."""


class BeyondWindowError(PermanentError):
    """An event is older than the inbox remembers."""


@dataclass(frozen=True, slots=True)
class DedupWindow:
    """How many days an inbox is kept, by the events' own time."""

    days: int = DEDUP_WINDOW_DAYS

    @classmethod
    def checked(cls, dedup_window_days: int, longest_replay_days: int) -> "DedupWindow":
        """Make the window of a service. Raises ConfigurationError when the longest replay would reach beyond it."""
        if dedup_window_days < longest_replay_days:
            raise ConfigurationError(
                f"DEDUP_WINDOW_DAYS={dedup_window_days} is shorter than LONGEST_REPLAY_DAYS={longest_replay_days}: a "
                "replay that is allowed would reach events that the inbox has forgotten, and they would be refused. "
                f"Set DEDUP_WINDOW_DAYS to {longest_replay_days} or more, or LONGEST_REPLAY_DAYS to "
                f"{dedup_window_days} or less, and start again."
            )
        return cls(dedup_window_days)

    def is_beyond(self, event_id: UUID, now: datetime) -> bool:
        made_at = own_time(event_id)
        return made_at is not None and made_at < now - timedelta(days=self.days)

    def check(self, event_id: UUID, now: datetime) -> None:
        """Raise BeyondWindowError for an event that the inbox may have forgotten."""
        if self.is_beyond(event_id, now):
            raise BeyondWindowError(
                f"The event is from {own_time(event_id):%Y-%m-%d %H:%M} UTC, older than the {self.days} days for which "
                "the inbox knows what it has seen (DEDUP_WINDOW_DAYS). Applied again it could take effect twice. See "
                "by its aggregate whether it had its effect: if so discard it, if not redrive it."
            )


def own_time(event_id: UUID) -> datetime | None:
    """Return when an event was made, by its id; None for an id that is no UUIDv7."""
    if event_id.version != 7:
        return None
    milliseconds = event_id.int >> _MILLISECONDS_SHIFT
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (OverflowError, ValueError):  # a time beyond the calendar's end: no clock that we know wrote it
        return None
