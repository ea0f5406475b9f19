"""Drops databases that no test wants any more, beside the tests that come next.

Each drop waits for a checkpoint of the whole server: a file with fifty tests spent more time on that than on them.
"""

import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor

import psycopg
from psycopg import sql

PATIENCE_SECONDS = 60.0


class Janitor:
    """One at a time, in a thread of its own. ``close`` waits for the last, and raises what went wrong."""

    def __init__(self, superuser_url: Callable[[str], str]) -> None:
        """``superuser_url``: a database's name → its address."""
        self._url = superuser_url
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="janitor")
        self._work: list[Future[None]] = []

    def drop(self, databases: Iterable[str]) -> None:
        self._work.append(self._thread.submit(self._drop, list(databases)))

    def close(self) -> None:
        for each in self._work:
            each.result()
        self._thread.shutdown()

    def _drop(self, databases: list[str]) -> None:
        for name in databases:
            self._drop_one(name)

    def _drop_one(self, name: str) -> None:
        """Insist: the next test may be one that kills the server."""
        statement = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                with psycopg.connect(self._url("postgres"), autocommit=True) as connection:
                    connection.execute(statement)
                return
            except psycopg.OperationalError:
                if time.monotonic() > end:
                    raise
                time.sleep(1.0)
