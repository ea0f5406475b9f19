"""What set-up should have brought: the servers' programs and Kafka's jars."""

import subprocess
from collections.abc import Callable, Iterable
from gettext import gettext as _
from pathlib import Path

from infra.doctor.finding import Finding, fault, ok
from infra.kafka.jars import LOCK, read_lock
from infra.local import postgres_programs, redis
from infra.local.errors import MissingToolError
from infra.local.kafka import jar_folder, java
from infra.local.stack import LocalStack


def check_tools(_stack: LocalStack) -> Iterable[Finding]:
    return [
        _tool("PostgreSQL", lambda: [postgres_programs.wheel() / "bin" / "postgres", "--version"]),
        _tool("Java", lambda: [java(), "--version"]),
        _tool("Redis", lambda: [redis.server(), "--version"]),
        judge_jars(jar_folder()),
    ]


def _tool(name: str, command: Callable[[], list[object]]) -> Finding:
    try:
        words = [str(word) for word in command()]
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=30)
    except MissingToolError as error:
        what, _dot, cure = str(error).partition(". ")
        return fault(name, what + ".", cure)
    except PermissionError:
        cure = _("The disk may forbid programs (mounted noexec): move the project to another disk.")
        return fault(name, _("{path} may not be executed.").format(path=words[0]), cure)
    except (OSError, subprocess.SubprocessError) as error:
        return fault(
            name, _("It does not run: {why}").format(why=error), _("Run `make clean setup` to install it again.")
        )
    return ok(name, done.stdout.splitlines()[0])


def judge_jars(folder: Path) -> Finding:
    """Compare a folder with the lock, by the files' names."""
    locked = read_lock(LOCK.read_text(encoding="utf-8"))
    missing = [jar for jar in locked if not (folder / jar.file).exists()]
    if missing:
        found = _("{count} of its {total} jars are missing.").format(count=len(missing), total=len(locked))
        return fault("Kafka", found, _("Run `make setup` to fetch them."))
    return ok("Kafka", _("{total} jars").format(total=len(locked)))
