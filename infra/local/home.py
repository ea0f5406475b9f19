"""The home of a local stack: one folder with all data, logs, secrets and notes of one copy of the system.

Invariant: everything the stack writes at run time is below this folder, so two checkouts (or two homes) never share
state, and removing the folder removes the stack. One exception: started as root, PostgreSQL needs a user of its own; if
that user cannot reach the home, its data go where it can (``postgres.py``).
"""

import fcntl
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from infra.local.errors import StackError

PROJECT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Home:
    root: Path

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> "Home":
        """Find the home: ``ONCE_HOME``, or ``.once`` in the project."""
        named = environ.get("ONCE_HOME")
        return cls(Path(named).expanduser().resolve() if named else PROJECT / ".once")

    @property
    def servers(self) -> Path:
        return self.root / "servers"

    @property
    def main(self) -> Path:
        return self.root / "main"

    @property
    def runs(self) -> Path:
        return self.root / "runs"

    def further(self, name: str) -> "Home":
        """Return the home of another stack that belongs to this one, and goes down with it."""
        return Home(self.root / "stacks" / name)

    def all_further(self) -> list["Home"]:
        return [Home(root) for root in sorted(self.root.glob("stacks/*/"))]

    def create(self) -> None:
        """Make the folder. Raises StackError when the place does not allow it."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            self._secrets.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise StackError(
                f"The stack's home {self.root} cannot be made: {error.strerror}. "
                "Set ONCE_HOME to a folder on a local disk that you may write to, and try again."
            ) from error

    def secret_file(self, name: str) -> Path:
        """Return the file (mode 0600) with a secret, made up at its first use."""
        path = self._secrets / name
        if not path.exists():
            self.create()
            _write_once(path, secrets.token_urlsafe(24))
        return path

    def secret(self, name: str) -> str:
        return self.secret_file(name).read_text(encoding="ascii").strip()

    def password_file(self, user: str) -> Path:
        """Return the file (mode 0600) in which libpq finds a user's password, made anew."""
        path, secret = self._secrets / f"{user}.pgpass", self.secret(user)
        path.unlink(missing_ok=True)
        _write_once(path, f"*:*:*:{user}:{secret}")
        return path

    @contextmanager
    def locked(self, deadline_seconds: float = 180) -> Iterator[None]:
        """Keep other commands from changing this stack at the same time; they wait. Not re-entrant."""
        self.create()
        with (self.root / "lock").open("w") as file:
            _acquire(file.fileno(), deadline_seconds)
            yield

    @property
    def _secrets(self) -> Path:
        return self.root / "secrets"


def _acquire(descriptor: int, deadline_seconds: float) -> None:
    end = time.monotonic() + deadline_seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                raise StackError(
                    "Another command has been changing this stack for "
                    f"{deadline_seconds:.0f} s. Wait for it to end, or stop it, and try again."
                ) from None
            time.sleep(0.1)
        else:
            return


def _write_once(path: Path, text: str) -> None:
    """Write a file that appears whole or not at all; the first writer wins."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text + "\n")
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    except OSError:  # a file system without hard links
        draft.replace(path)
        return
    draft.unlink()
