"""What can happen to the sessions of a database while the server itself is well.

All of these touch the run's own databases only: sessions are found by database and by the name that each process gives
its connections.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from gettext import gettext as _
from typing import Any

import psycopg
from psycopg import sql

from chaos.faults import Quiet
from chaos.history import FaultPhase
from chaos.stage import Stage

_TERMINATE = """
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name LIKE %s
"""
_CANCEL = """
SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'active' AND backend_type = 'client backend'
  AND application_name <> 'chaos'
"""
_WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
_SLEEPING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'"
_SLEEPERS_END = """
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE datname = current_database() AND wait_event = 'PgSleep'
"""


def number(connection: psycopg.Connection[Any], query: str, *parameters: object) -> int:
    row = connection.execute(query.encode(), parameters).fetchone()
    return int(row[0]) if row else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionsTerminated(Quiet):
    """End sessions from the server's side (``pg_terminate_backend``), in whatever they are doing."""

    database: str
    application: str = "%"
    rounds: int = 3
    pause_seconds: float = 1.0

    def inject(self, stage: Stage) -> None:
        stage.record(self.name, FaultPhase.INJECT, self.database, detail=self.application)
        with stage.database(self.database) as connection:
            for _round in range(self.rounds):
                if ended := number(connection, _TERMINATE, self.application):
                    stage.record(self.name, FaultPhase.HIT, self.database, detail=f"{ended} sessions ended")
                stage.wait(self.pause_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementsCancelled(Quiet):
    """Cancel whatever statement is running, many times a second: time-outs, and an administrator's Ctrl-C."""

    database: str
    seconds: float = 3.0
    every_seconds: float = 0.02

    def inject(self, stage: Stage) -> None:
        stage.record(self.name, FaultPhase.INJECT, self.database)
        with stage.database(self.database) as connection:
            for _round in range(round(self.seconds / self.every_seconds)):
                if met := number(connection, _CANCEL):
                    stage.record(self.name, FaultPhase.HIT, self.database, detail=f"{met} statements cancelled")
                stage.wait(self.every_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLocked(Quiet):
    """Hold a table's strongest lock, as a careless migration does; every connection comes to wait."""

    database: str
    table: str
    seconds: float = 4.0
    waiters: int = 1

    def inject(self, stage: Stage) -> None:
        stage.record(self.name, FaultPhase.INJECT, self.table)
        with stage.database(self.database) as watching, stage.database(self.database) as holder, holder.transaction():
            holder.execute(sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(sql.Identifier(self.table)))
            if stage.wait_until(lambda: number(watching, _WAITING) >= self.waiters, self.seconds):
                detail = f"{number(watching, _WAITING)} sessions wait"
                stage.record(self.name, FaultPhase.HIT, self.table, detail=detail)
            stage.wait(self.seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleInTransaction(Quiet):
    """A session that has written, holds its transaction open and does nothing: it holds back every snapshot's xmin."""

    database: str
    seconds: float = 10.0

    def inject(self, stage: Stage) -> None:
        stage.record(self.name, FaultPhase.INJECT, self.database)
        with stage.database(self.database) as holder, holder.transaction():
            xid = number(holder, "SELECT pg_current_xact_id()::text::bigint")
            stage.record(self.name, FaultPhase.HIT, self.database, detail=f"transaction {xid} stays open")
            stage.wait(self.seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class LateCommits(Quiet):
    """Every transaction that writes an event in some lanes takes long to commit, while later ones overtake it.

    ``terminated``: sessions that hang in COMMIT are ended there, from the server's side. Their clients cannot know.
    """

    database: str
    seconds: float = 8.0
    late_by_seconds: float = 1.0
    lanes: int = 3
    terminated: bool = False

    def inject(self, stage: Stage) -> None:
        stage.record(self.name, FaultPhase.INJECT, self.database)
        with stage.database(self.database) as connection, self._trigger(connection):
            for _beat in range(round(self.seconds / 0.2)):
                if sleeping := number(connection, _SLEEPING):
                    stage.record(self.name, FaultPhase.HIT, self.database, detail=f"{sleeping} sessions hang in COMMIT")
                    if self.terminated:
                        stage.wait(self.late_by_seconds / 3)
                        number(connection, _SLEEPERS_END)
                stage.wait(0.2)

    @contextmanager
    def _trigger(self, connection: psycopg.Connection[Any]) -> Iterator[None]:
        connection.execute(
            sql.SQL(
                "CREATE FUNCTION chaos_late() RETURNS trigger LANGUAGE plpgsql AS "
                "'BEGIN PERFORM pg_sleep({}); RETURN NULL; END'"
            ).format(sql.Literal(self.late_by_seconds))
        )
        # Deferred: it runs inside COMMIT, when xid and id of the event have long been drawn.
        connection.execute(
            sql.SQL(
                "CREATE CONSTRAINT TRIGGER chaos_late AFTER INSERT ON outbox DEFERRABLE INITIALLY DEFERRED "
                "FOR EACH ROW WHEN (NEW.lane < {}) EXECUTE FUNCTION chaos_late()"
            ).format(sql.Literal(self.lanes))
        )
        try:
            yield
        finally:
            self._remove(connection)

    def _remove(self, connection: psycopg.Connection[Any]) -> None:
        connection.execute("DROP FUNCTION IF EXISTS chaos_late() CASCADE")

    def heal(self, stage: Stage) -> None:
        with stage.database(self.database) as connection:
            self._remove(connection)
        stage.record(self.name, FaultPhase.HEAL, self.database)

    def probe(self, stage: Stage) -> str | None:
        with stage.database(self.database) as connection:
            left = number(connection, "SELECT count(*) FROM pg_trigger WHERE tgname = 'chaos_late'")
        return _("the trigger that delays commits is still there") if left else None


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseSetting(Quiet):
    """Give the database a setting that hurts and end its sessions, so that all meet it; back after a while."""

    database: str
    setting: str
    undo: str
    what: str
    seconds: float = 4.0

    def inject(self, stage: Stage) -> None:
        stage.record(self.name, FaultPhase.INJECT, self.database, detail=self.setting)
        self._alter(stage, self.setting)
        with stage.database(self.database) as connection:
            met = number(connection, _TERMINATE, "%")
        stage.record(self.name, FaultPhase.HIT, self.database, detail=f"{self.what}; {met} sessions have to come again")
        stage.wait(self.seconds)
        self._undo(stage)

    def heal(self, stage: Stage) -> None:
        self._undo(stage)
        stage.record(self.name, FaultPhase.HEAL, self.database, detail=self.undo)

    def _undo(self, stage: Stage) -> None:
        self._alter(stage, self.undo)
        with stage.database(self.database) as connection:
            number(connection, _TERMINATE, "%")

    def _alter(self, stage: Stage, words: str) -> None:
        name = sql.Identifier(stage.deployment.database(self.database))
        url = stage.stack.superuser_url("postgres")  # from outside: the setting holds for this session too
        with psycopg.connect(url, autocommit=True, connect_timeout=5) as connection:
            connection.execute(sql.SQL("ALTER DATABASE {} ").format(name) + sql.SQL(words))
