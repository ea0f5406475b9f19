"""Take a table's locks without making everybody else wait: give up soon, let the queue go by, and try again.

Whoever asks for a table's strongest lock stands in a queue, and all who come later stand behind it, also those that
only read. With one long transaction in front, a migration of a millisecond stops the service for minutes.

Invariant: nobody waits behind us for longer than ``LOCK_SECONDS`` at a time. Not promised: that it ever works; a
transaction that never ends has to be ended by a person.
"""

import time
from collections.abc import Callable

from psycopg.errors import LockNotAvailable
from sqlalchemy.exc import OperationalError

from shared.errors import OnceError

LOCK_SECONDS = 0.5
LOCK_TIMEOUT = f"SET lock_timeout = '{LOCK_SECONDS * 1000:.0f}ms'"
PAUSE_SECONDS = 1.0
GIVE_UP_SECONDS = 120.0


class StillLockedError(OnceError):
    """A table was in use for as long as we were willing to try."""


def until_locked(
    step: Callable[[], None],
    again: Callable[[], None],
    *,
    pause: float = PAUSE_SECONDS,
    within: float = GIVE_UP_SECONDS,
) -> int:
    """Do a step that works under ``LOCK_TIMEOUT``; return how often it gave up before. ``again`` rolls back.

    Raises StillLockedError.
    """
    deadline, given_up = time.monotonic() + within, 0
    while True:
        try:
            step()
            return given_up
        except (LockNotAvailable, OperationalError) as error:
            again()
            if not isinstance(getattr(error, "orig", error), LockNotAvailable):
                raise
            given_up += 1
            if time.monotonic() > deadline:
                raise StillLockedError(
                    f"A table has been in use for {within:.0f} s, so the schema is as it was. Look for the transaction "
                    "that holds it (pg_stat_activity, oldest xact_start), end it, and run the same command again."
                ) from error
        time.sleep(pause)
