"""Make the lock files again, or check them: ``python3 -I infra/lock.py [check]``.

A lock says exactly which files may be installed, by SHA-256, for every platform and Python that we name, and carries no
address of an index: where packages come from is the machine's business. Making the locks needs ``uv`` on PATH (or its
path in ``UV``); checking them downloads for each platform with pip.
"""

import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
REQUIREMENTS = PROJECT / "requirements"
PYTHON = PROJECT / ".venv" / "bin" / "python"
PLATFORMS = {
    "Linux x86-64": ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"),
    "Linux arm64": ("manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64"),
    "macOS arm64": tuple(
        f"macosx_{version}_{kind}"
        for version in ("13_0", "12_0", "11_0", "10_15", "10_13", "10_12", "10_9")
        for kind in ("arm64", "universal2")
    ),
}
PYTHONS = ("3.11", "3.12", "3.13")
COMPILE = (
    "--universal",
    "--python-version",
    "3.11",
    "--generate-hashes",
    "--no-emit-index-url",
    "--no-header",
    "--quiet",
)


def lock() -> None:
    """Compile the locks: the services' first, then everything with the services' versions held."""
    compile_one("services")
    compile_one("all", "--constraint", "requirements/services.txt")
    compile_one("examples", "--constraint", "requirements/all.txt")
    compile_one("workshop", "--constraint", "requirements/all.txt")
    compile_one("redis", "--no-deps")
    compile_one("docs")
    subprocess.run([PYTHON, "-m", "infra.kafka.jars", "lock"], cwd=PROJECT, check=True)


def compile_one(name: str, *options: str) -> None:
    uv = os.environ.get("UV") or shutil.which("uv")
    if uv is None:
        sys.exit("Making the locks needs uv. Install it (`pipx install uv`), or give its path in UV, and try again.")
    files = [f"requirements/{name}.in", "--output-file", f"requirements/{name}.txt"]
    # Without the machine's own sources, or their addresses would end up in the lock.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("UV_")}
    subprocess.run([uv, "pip", "compile", *COMPILE, *options, *files], cwd=PROJECT, env=environment, check=True)


def check() -> None:
    """Download the locks for each platform and Python. Exits with 1 when something cannot be had."""
    failed = [
        f"{platform}, Python {python}"
        for platform, python in itertools.product(PLATFORMS, PYTHONS)
        if not downloads(platform, python)
    ]
    if failed:
        sys.exit("Not everything locked can be had for: " + "; ".join(failed))


def downloads(platform: str, python: str) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        done = download(REQUIREMENTS / "all.txt", platform, python, Path(folder))
        count = len(list(Path(folder).glob("*.whl")))
    print(f"{platform}, Python {python}: {count} wheels" if done.returncode == 0 else done.stderr, flush=True)  # noqa: T201
    return done.returncode == 0


def download(lock_file: Path, platform: str, python: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Have in the folder what a lock names for a platform and a Python; what is there already is not fetched again."""
    tags = [word for tag in PLATFORMS[platform] for word in ("--platform", tag)]
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as wanted:
        wanted.write(markers_resolved(lock_file, platform, python))
        wanted.flush()
        options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:", "--require-hashes"]
        target = ["--python-version", python, "--implementation", "cp", *tags, "-d", str(folder), "-r", wanted.name]
        command = [str(PYTHON), "-m", "pip", "download", *options, *target]
        return subprocess.run(command, capture_output=True, text=True, check=False)


def markers_resolved(lock_file: Path, platform: str, python: str) -> str:
    """Return the lock without the lines that are for other platforms: pip judges markers by the machine it runs on."""
    environment = {
        "sys_platform": "darwin" if platform.startswith("macOS") else "linux",
        "platform_system": "Darwin" if platform.startswith("macOS") else "Linux",
        "platform_machine": {"Linux x86-64": "x86_64", "Linux arm64": "aarch64", "macOS arm64": "arm64"}[platform],
        "python_version": python,
        "python_full_version": f"{python}.9",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "os_name": "posix",
    }
    code = (
        "import json, sys\n"
        "from packaging.markers import Marker\n"
        "environment = json.loads(sys.argv[2])\n"
        "keep = True\n"
        "for line in open(sys.argv[1], encoding='utf-8'):\n"
        "    if line[:1].strip() and not line.startswith('#'):\n"
        "        requirement, _, marker = line.rstrip('\\\\\\n ').partition(' ; ')\n"
        "        keep = not marker or Marker(marker).evaluate(environment)\n"
        "        line = requirement + ' \\\\\\n'\n"
        "    if keep: print(line, end='')\n"
    )
    done = subprocess.run(
        [PYTHON, "-c", code, lock_file, json.dumps(environment)], capture_output=True, text=True, check=True
    )
    return done.stdout


if __name__ == "__main__":
    check() if sys.argv[1:] == ["check"] else lock()
