"""Where a bout takes place: a database on the local stack, or a PostgreSQL of its own that may be crashed."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from uuid import uuid4

import psycopg
from psycopg import sql

from infra.local.home import Home
from infra.local.launch import become
from infra.local.postgres import Postgres
from tests.conftest import eventually


@contextmanager
def database(superuser_url: str) -> Iterator[str]:
    """Make an empty database beside the one of this address, and drop it afterwards."""
    name = f"hammer_{uuid4().hex}"
    with psycopg.connect(superuser_url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    try:
        yield superuser_url.rpartition("/")[0] + f"/{name}"
    finally:
        with psycopg.connect(superuser_url, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


class CrashingServer:
    """PostgreSQL in a folder of its own, whose log of changes is written late, so that a crash forgets commits."""

    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as found:
            port = found.getsockname()[1]
        home = Home(folder)
        home.create()
        self._server = Postgres(home, port)
        self._server.prepare(lambda _sentence: None)
        self._process = self._start()
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET wal_writer_delay = '1s'")
            connection.execute("ALTER SYSTEM SET wal_writer_flush_after = '1GB'")
            connection.execute("ALTER SYSTEM SET bgwriter_lru_maxpages = 0")
            connection.execute("SELECT pg_reload_conf()")

    @property
    def url(self) -> str:
        return self._server.url("postgres")

    def crash(self) -> None:
        """End every process of the server at once, without a checkpoint, and start it again."""
        self._end(signal.SIGQUIT)
        self._process = self._start()

    def close(self) -> None:
        self._end(signal.SIGQUIT)
        self._server.destroy()

    def _start(self) -> "subprocess.Popen[bytes]":
        task = self._server.task()
        process = subprocess.Popen(
            task.argv,
            cwd=task.directory,
            env={"PATH": os.environ.get("PATH", ""), **task.environment},
            preexec_fn=partial(become, task.user) if task.user else None,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        eventually(self._answers, 60, "the server answers")
        return process

    def _answers(self) -> bool:
        self._server.probe()
        return True

    def _end(self, number: signal.Signals) -> None:
        self._process.send_signal(number)
        self._process.wait(60)


@contextmanager
def crashing_server(folder: Path) -> Iterator[CrashingServer]:
    server = CrashingServer(folder)
    try:
        yield server
    finally:
        server.close()
