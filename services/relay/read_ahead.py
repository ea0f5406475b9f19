"""Reading the next chunk while the present one is on its way.

Invariant: what is handed out was read with exactly the position, lanes and size that are asked for; anything else is
thrown away and read anew. So reading ahead changes when a chunk is read, never which one.

The connection is shared: psycopg lets one statement run at a time, whichever thread it comes from.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

from services.relay.position import Row

Read = Callable[[], list[Row]]


class ReadAhead:
    """One chunk at most. A read that failed shows its error to whoever takes it."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="read-ahead")
        self._wanted: object = None
        self._reading: Future[list[Row]] | None = None

    def start(self, wanted: object, read: Read) -> None:
        """Begin to read what will be asked for next."""
        self.forget()
        self._wanted, self._reading = wanted, self._thread.submit(read)

    def take(self, wanted: object, read: Read) -> list[Row]:
        """Return what was read ahead, if it is this; otherwise read it now."""
        if self._reading is None or self._wanted != wanted:
            self.forget()
            return read()
        reading, self._reading = self._reading, None
        return reading.result()

    def forget(self) -> None:
        """Throw away what was read ahead, and wait for a statement that is still running."""
        reading, self._reading = self._reading, None
        if reading is not None:
            with suppress(Exception):  # whoever uses the connection next will see it
                reading.result()

    def close(self) -> None:
        self.forget()
        self._thread.shutdown()
