"""PostgreSQL clusters of a test's own, to be dumped, copied, upgraded, promoted and restored."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from infra.local.home import Home
from infra.local.ports import RUNS, free_block
from infra.local.postgres import Postgres
from tests.conftest import eventually

BURN = "DO $$ BEGIN FOR i IN 1..{count} LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$"


class Cluster:
    """One server: its data, its programs, and its process while it runs. Ended by the fixture at the latest."""

    def __init__(self, folder: Path, password: str) -> None:
        self._password = password
        home = Home(folder)
        home.create()
        home.secret_file("postgres").write_text(password, encoding="ascii")
        self.postgres = Postgres(home, free_block(["postgres"], RUNS)["postgres"])
        self.process: subprocess.Popen[bytes] | None = None

    def make(self) -> "Cluster":
        self.postgres.prepare(lambda _line: None)
        return self

    def start(self) -> "Cluster":
        self.process = subprocess.Popen(
            [str(self.program("postgres")), "-D", "data", "-c", f"port={self.postgres.port}"],
            cwd=self.place,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=self.postgres._become_user,
        )
        eventually(self.answers, 90, lambda: f"the server answers (ended: {self.process and self.process.poll()})")
        return self

    def stop(self, *, at_once: bool = False) -> None:
        """Shut down in order, or, at once, as a power cut would end it."""
        if self.process is not None:
            # SIGQUIT to the parent ends the children, too; nothing is written.
            self.process.send_signal(3 if at_once else 2)
            self.process.wait(60)
            self.process = None

    def answers(self) -> bool:
        with psycopg.connect(self.url("postgres"), connect_timeout=2):
            return True

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[object, ...]]:
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement)  # type: ignore[call-overload]  # tests write their own SQL
            return cursor.fetchall() if cursor.description else []

    def url(self, database: str = "shop") -> str:
        return self.postgres.url(database)

    def run(self, program: str, *arguments: str) -> str:
        done = subprocess.run(
            [str(self.program(program)), *arguments],
            cwd=self.place,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C", "PGPASSWORD": self._password},
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=self.postgres._become_user,
        )
        assert done.returncode == 0, f"{program}: {done.stdout}{done.stderr}"
        return done.stdout

    def copy_of(self, source: "Cluster", *, standby: bool = False) -> "Cluster":
        """Become a physical copy of a running cluster."""
        self.place.mkdir(parents=True, exist_ok=True)
        self.postgres._hand_over(self.place)
        shutil.rmtree(self.postgres.data, ignore_errors=True)
        self.run("pg_basebackup", "-d", source.url("postgres"), "-D", "data", "-c", "fast", *(["-R"] * standby))
        return self

    def program(self, name: str) -> Path:
        return self.postgres.program(name)

    @property
    def place(self) -> Path:
        return self.postgres._place


@contextmanager
def clusters(folder: Path) -> Iterator[Callable[[str], Cluster]]:
    """Return a function that names a cluster; all of them are stopped and deleted at the end."""
    made: list[Cluster] = []

    def name(text: str) -> Cluster:
        cluster = Cluster(folder / text, "the-same-for-all")
        made.append(cluster)
        return cluster

    try:
        yield name
    finally:
        for cluster in made:
            cluster.stop(at_once=True)
            cluster.postgres.destroy()
