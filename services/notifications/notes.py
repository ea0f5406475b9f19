"""Tell billing which mails are settled, many in one note.

A note that is lost costs nothing but a reminder: billing commands the mail again, the ledger knows it, and it is noted
once more. So notes are kept in memory and sent at best effort, apart from the work.
"""

import threading
from typing import Final
from uuid import UUID

from celery import Celery
from kombu.exceptions import OperationalError

from shared.logs import get_logger

TASK: Final = "billing.mails_settled"
PAUSE_SECONDS: Final = 0.2

log = get_logger(__name__)


class Notes:
    """Collects outcomes from the worker's thread and sends them from its own."""

    def __init__(self, app: Celery, queue: str) -> None:
        self._app = app
        self._queue = queue
        self._lock = threading.Lock()
        self._settled: dict[str, list[str]] = {"sent": [], "refused": []}

    def add(self, event_id: UUID, outcome: str) -> None:
        with self._lock:
            self._settled[outcome].append(str(event_id))

    def run(self, stop: threading.Event) -> None:
        while not stop.wait(PAUSE_SECONDS):
            self.flush()
        self.flush()

    def flush(self) -> None:
        """Send what has come together; what the queue does not take is forgotten."""
        with self._lock:
            settled, self._settled = self._settled, {"sent": [], "refused": []}
        if not any(settled.values()):
            return
        try:
            self._app.send_task(TASK, kwargs=settled, queue=self._queue, retry=False)
        except (OperationalError, OSError) as error:
            log.warning("mails not noted", mails=sum(map(len, settled.values())), detail=str(error))
