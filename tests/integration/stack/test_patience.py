"""A migration that does not get its lock steps out of the queue, so that nobody has to stand behind it."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import psycopg
import pytest

from infra.patience import LOCK_SECONDS, LOCK_TIMEOUT, StillLockedError, until_locked
from tests.conftest import DatabaseFactory, eventually

ALTER = "ALTER TABLE thing ADD COLUMN more text"
READ = "SELECT count(*) FROM thing"


@pytest.fixture
def url(postgres_url: DatabaseFactory) -> str:
    url = postgres_url(driver="postgresql")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE thing (id int)")
    return url


def alter(url: str, within: float = 30.0) -> int:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(LOCK_TIMEOUT)
        return until_locked(partial(_execute, connection), lambda: None, pause=0.2, within=within)


def _execute(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    connection.execute(ALTER)


def test_readers_wait_for_half_a_second_at_most_while_a_long_one_is_in_front(url: str) -> None:
    """Red without the time-out: then a reader waits for as long as the long one sleeps."""
    with ThreadPoolExecutor() as threads, psycopg.connect(url) as long_reader, psycopg.connect(url) as reader:
        long_reader.execute(READ)
        migration = threads.submit(alter, url)
        waited, gone = 0.0, threading.Event()
        threading.Timer(4.0, gone.set).start()
        while not gone.is_set():
            begun = time.monotonic()
            reader.execute(READ)
            reader.rollback()
            waited = max(waited, time.monotonic() - begun)
        long_reader.rollback()
        assert migration.result(20) >= 1
        assert waited < 6 * LOCK_SECONDS, waited


def test_what_never_gets_its_lock_says_what_to_look_for(url: str) -> None:
    """And leaves the schema as it was."""
    with psycopg.connect(url) as long_reader:
        long_reader.execute(READ)
        with pytest.raises(StillLockedError, match="pg_stat_activity"):
            alter(url, within=0.1)
        long_reader.rollback()
    eventually(lambda: alter(url) == 0, 5, "it works once nobody is in front")
