"""One bout: writers against relays for a while, then mercy, then everything has to be in the log."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field

import psycopg
from sqlalchemy import MetaData, create_engine, text

from services.relay.pace import Pace
from services.relay.relay import Relay
from shared import failpoints
from shared.errors import RefusedError
from shared.outbox_tables import FIRST_POSITIONS, outbox_table, relay_tables
from tests.hammer import judge, writers
from tests.hammer.broker import Log, MoodyBroker
from tests.hammer.fate import Fate, FatedConnection, RelayDiedError, accept, at_failpoint
from tests.hammer.judge import Judge
from tests.hammer.writers import Writer

LEASE_SECONDS = 1.0
CHUNKS = (1, 3, 10, 30, 100, 1000)
DRAIN_SECONDS = 60.0
_TERMINATE = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
ORDER BY random() LIMIT 1
"""
_PREPARED = """
SELECT format('COMMIT PREPARED %L', gid) FROM pg_prepared_xacts
WHERE database = current_database() AND prepared < clock_timestamp() - interval '3 s'
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a bout consists of."""

    seed: int
    seconds: float
    relay: type[Relay] = Relay
    relays: int = 3
    writers: int = 16
    crash: Callable[[], None] | None = None
    """Crashes the server and returns when it is back; the sessions commit asynchronously then.

    Little else befalls relays then, so that they live to see the server come back, and nothing forces commits out.
    """
    stop_at_first: bool = True


@dataclass(slots=True)
class Outcome:
    """``found`` is empty when everything held. ``at_seconds``: when the first fault was seen."""

    found: list[str]
    at_seconds: float | None
    events: int = 0
    copies: int = 0
    tally: Counter[str] = field(default_factory=Counter)


def prepare(url: str) -> None:
    """Make outbox, positions and the writers' tables in an empty database."""
    metadata = MetaData()
    outbox_table(metadata)
    relay_tables(metadata)
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://", 1))
    with engine.begin() as connection:
        metadata.create_all(connection)
        connection.execute(text(FIRST_POSITIONS))
        connection.execute(text(writers.CREATE))
        connection.exec_driver_sql(judge.WATCH)
    engine.dispose()


def play(url: str, plan: Plan) -> Outcome:
    """Play a plan on an empty database."""
    prepare(url)
    return Bout(url, plan).play()


class Bout:
    """Plays a plan on a prepared database."""

    def __init__(self, url: str, plan: Plan) -> None:
        self._url = url + ("?options=-c%20synchronous_commit%3Doff" if plan.crash else "")
        self._plan = plan
        self._log = Log()
        self._tally: Counter[str] = Counter()
        self._judge = Judge(lambda: psycopg.connect(self._url), self._log, crashes=plan.crash is not None)
        self._mercy, self._over = threading.Event(), threading.Event()
        self._stop_writing = threading.Event()
        self._begun = time.monotonic()

    def play(self) -> Outcome:
        """Return what was found. Ends early with the first fault, if the plan says so."""
        with ExitStack() as cleanup:
            cleanup.callback(self._stop_all)
            failpoints.arm(at_failpoint)
            cleanup.callback(failpoints.disarm)
            self._start_all()
            found, at_seconds = self._watch()
            if not found:
                found = self._drain()
                at_seconds = self._elapsed() if found else None
            events = len(self._judge.standing().existing)
        return Outcome(found, at_seconds, events, self._log.copies, self._tally)

    def _start_all(self) -> None:
        plan = self._plan
        self._writers = [
            Writer(self._url, self._dice("writer", n), self._stop_writing, self._tally, two_phase=plan.crash is None)
            for n in range(plan.writers)
        ]
        self._relays = [threading.Thread(target=self._relive, args=(n,), daemon=True) for n in range(plan.relays)]
        for thread in (*self._writers, *self._relays):
            thread.start()

    def _stop_all(self) -> None:
        self._mercy.set()
        self._stop_writing.set()
        self._over.set()
        for thread in (*self._writers, *self._relays):
            thread.join(30)

    def _watch(self) -> tuple[list[str], float | None]:
        """Look once a second; meanwhile terminate a session now and then, or crash the server."""
        dice = self._dice("nemesis", 0)
        while self._elapsed() < self._plan.seconds:
            self._over.wait(1.0)
            if dice.random() < 0.3:
                self._terminate_somebody()
            if self._plan.crash is not None and dice.random() < 0.3:
                self._tally["server crashed"] += 1
                self._plan.crash()
            try:
                self._end_prepared()
                found = self._judge.look(self._judge.standing())
            except psycopg.Error:
                continue  # the judge's own session was terminated
            if found and self._plan.stop_at_first:
                return found, self._elapsed()
        return [], None

    def _terminate_somebody(self) -> None:
        with suppress(psycopg.Error), psycopg.connect(self._url) as connection:
            connection.execute(_TERMINATE)
            self._tally["session terminated"] += 1

    def _drain(self) -> list[str]:
        self._stop_writing.set()
        for writer in self._writers:
            writer.join()
        self._mercy.set()
        deadline = time.monotonic() + DRAIN_SECONDS
        while time.monotonic() < deadline:
            self._end_prepared()
            self._over.wait(0.5)
            if not self._judge.standing().pending and not self._judge.prepared():
                break
        wrong = self._judge.at_the_end()
        if ill_written := self._judge.ill_written():
            wrong.append(f"the writers are at fault: {ill_written} rows have ids out of the order of versions")
        return wrong

    def _end_prepared(self) -> None:
        """Commit what lost its owner after it was prepared, or is about to be committed very late."""
        with psycopg.connect(self._url, autocommit=True) as connection:
            for (command,) in connection.execute(_PREPARED).fetchall():
                with suppress(psycopg.Error):  # its owner came first
                    connection.execute(command)

    # Relays

    def _relive(self, number: int) -> None:
        """Run one relay after the other: each death is followed by another life, under the same name or a new one."""
        dice = self._dice("relay", number)
        while not self._over.is_set():
            # A server that forgets commits may seem to be another one; who is refused asks again, as an operator would.
            with suppress(RelayDiedError, *([RefusedError] if self._plan.crash else [])):
                self._relay(dice, f"relay-{number}{dice.choice(('', '-again'))}").run(self._over)

    def _relay(self, dice: random.Random, name: str) -> Relay:
        calm = 0.05 if self._plan.crash else 1.0
        fate = Fate(dice, self._tally, self._mercy, calm, hang_seconds=LEASE_SECONDS * 1.5)
        accept(fate)

        def connect() -> FatedConnection:
            connection = FatedConnection.connect(self._url, autocommit=True, application_name=name)
            connection.fate = fate
            fate.connection = connection
            return connection

        self._tally["relay lives"] += 1
        return self._plan.relay(
            connect=connect,
            transport=MoodyBroker(self._log, dice, fate, self._tally),
            destination="event",
            name=name,
            pace=Pace(
                chunk_size=dice.choice(CHUNKS),
                lease_seconds=LEASE_SECONDS,
                renew_seconds=0.2,
                produce_deadline_seconds=0.5,
                poll_seconds=0.002,
                idle_poll_seconds=0.02,
                settle_seconds=dice.choice((0.0, 0.05, 0.3)),
            ),
        )

    def _dice(self, kind: str, number: int) -> random.Random:
        return random.Random(f"{self._plan.seed}/{kind}/{number}")

    def _elapsed(self) -> float:
        return time.monotonic() - self._begun
