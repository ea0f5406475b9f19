"""The gate that stops taking orders when the relay is too far behind.

An order whose event does not leave is never invoiced. When the oldest unpublished event is older than a limit, or there
are more than a limit of them, saying 503 is more honest than going on. The age is the alarm, since a short queue that
has stood still for days is the worse one; the number keeps a burst from growing into hours of work.

Invariant: refused means that nothing was written, taken means committed: the gate is asked before the transaction
begins and never ends one.
"""

import threading
from typing import Final

from sqlalchemy import Engine

from services.orders.errors import BacklogError
from shared.backlog import Backlog, backlogs
from shared.clock import monotonic
from shared.database import transaction

REFRESH_SECONDS: Final = 1.0
_LEISURE: Final = 20
"""Between two looks at least so many times as long as the look took: a long backlog is counted less often."""


class Gate:
    """Refuses work while the backlog is too old or too large. Asks the database once a second at most. 0: no limit."""

    def __init__(self, engine: Engine, limit_seconds: float, limit_events: int = 0) -> None:
        self._engine = engine
        self._limit_seconds = limit_seconds
        self._limit_events = limit_events
        self._found: list[Backlog] = []
        self._ask_again_at = 0.0
        self._asking = threading.Lock()

    def check(self) -> None:
        """Raise BacklogError while the backlog is beyond a limit. The answer may be a second old."""
        if not (self._limit_seconds or self._limit_events):
            return
        self._refresh()
        oldest = max((each.oldest_seconds for each in self._found), default=0.0)
        most = max((each.pending for each in self._found), default=0)
        if self._limit_seconds and oldest > self._limit_seconds:
            raise BacklogError(f"The oldest event has waited {oldest:.0f} s to be published, {_SO}")
        if self._limit_events and most > self._limit_events:
            raise BacklogError(f"More than {self._limit_events} events wait to be published, {_SO}")

    def _refresh(self) -> None:
        if monotonic() < self._ask_again_at or not self._asking.acquire(blocking=False):
            return  # the last answer is good enough, also while another thread is asking
        try:
            begun = monotonic()
            with transaction(self._engine) as connection:
                self._found = backlogs(connection.exec_driver_sql, at_most=self._limit_events + 1)
            self._ask_again_at = monotonic() + max(REFRESH_SECONDS, _LEISURE * (monotonic() - begun))
        finally:
            self._asking.release()


_SO: Final = (
    "so orders are not taken for now: they would not be invoiced. Nothing was written. Send the request again later."
)
