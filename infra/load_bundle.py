"""Take what this machine needs out of a bundle, and set up (``make load-bundle``): ``python3 -I load_bundle.py FILE``.

Uses the standard library alone: it runs before anything is installed, and needs no network. Wheels go to
``requirements/wheels``, jars to ``requirements/jars``, where set-up looks first; images go to the Docker engine if one
answers. What arrives is compared with the archive's own list, and at installation with the locks.
"""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import IO, Any, Iterator  # noqa: UP035  # an old Python has to get as far as the message

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from infra import setup  # isolated (-I), Python does not look here by itself

_BLOCK_BYTES = 1 << 20


def load(archive_path: Path) -> None:
    """Raise SetupError, before anything is written, when the bundle is not for this checkout or machine."""
    with open_archive(archive_path) as archive:
        manifest = read_manifest(archive)
        refuse_misfit(manifest, setup.locks_digest(), here(), "{}.{}".format(*sys.version_info[:2]))
        taken = take_out(archive, manifest)
        say(f"{taken} wheels and jars taken out")
        load_images(archive, manifest)
    setup.LOADED.write_text(setup.locks_digest(), encoding="utf-8")


def open_archive(path: Path) -> tarfile.TarFile:
    try:
        return tarfile.open(path)  # the caller closes it
    except (OSError, tarfile.TarError) as error:
        raise setup.SetupError(
            f"The bundle cannot be read: {error}. Name the file that `make bundle` wrote: "
            "make load-bundle ARGS=/media/stick/once-bundle.tar"
        ) from error


def read_manifest(archive: tarfile.TarFile) -> dict[str, Any]:
    try:
        manifest = json.load(opened(archive, setup.MANIFEST))
    except (KeyError, ValueError) as error:
        raise setup.SetupError("This archive is no bundle of ours: it has no list of what is in it.") from error
    return dict(manifest)


def refuse_misfit(manifest: dict[str, Any], locks: str, machine: str, python: str) -> None:
    if manifest["locks"] != locks:
        raise setup.SetupError(
            "The bundle was made for other lock files than those in this checkout. Take the checkout that is in the "
            f"bundle (`tar -xf BUNDLE {setup.BUNDLED_SOURCE}`, then `git clone {setup.BUNDLED_SOURCE}`), or make the "
            "bundle again from this one."
        )
    if machine not in manifest["platforms"] or python not in manifest["pythons"]:
        raise setup.SetupError(
            f"The bundle is for {', '.join(manifest['platforms'])} with Python {', '.join(manifest['pythons'])}; this "
            f"is {machine} with Python {python}. Name another Python (`make PYTHON=/path/to/python3.12 load-bundle`), "
            "or have a bundle made without --platform and --python."
        )


def here() -> str:
    """Name this machine as the bundle does."""
    kind = {"x86_64": "x86-64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return f"{'macOS' if sys.platform == 'darwin' else 'Linux'} {kind}"


def take_out(archive: tarfile.TarFile, manifest: dict[str, Any]) -> int:
    """Write each file that fits this machine, checked. A killed run leaves no file that is not whole."""
    wanted = list(fitting(manifest["files"], here()))
    for name, target in wanted:
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f"{target.name}.part")
        with draft.open("wb") as file:
            arrived = copied(opened(archive, name), file)
        if arrived != manifest["files"][name]:
            draft.unlink()
            raise setup.SetupError(f"{name} in the bundle is damaged (its SHA-256 differs). Copy the bundle again.")
        draft.replace(target)
    return len(wanted)


def fitting(files: dict[str, str], machine: str) -> Iterator[tuple[str, Path]]:
    """Yield name and target. Wheels for Linux are for containers, too, which on a Mac are of its own architecture."""
    systems = {"Linux x86-64": ["x86_64"], "Linux arm64": ["aarch64"]}.get(machine, ["macosx", "aarch64"])
    for name in files:
        folder, _, file = name.partition("/")
        if folder == "jars":
            yield name, setup.BUNDLED_JARS / Path(file).name
        if folder == "wheels":
            tag = file.rsplit("-", 1)[-1]
            if tag == "any.whl" or any(each in tag for each in systems):
                yield name, setup.BUNDLED_WHEELS / Path(file).name


def load_images(archive: tarfile.TarFile, manifest: dict[str, Any]) -> None:
    if not manifest["images"]:
        say("No images are in the bundle: `make demo` runs, `docker compose` does not")
        return
    architecture = engine_architecture()
    if architecture is None:
        say("No Docker engine answers here, so the images stay in the bundle")
    elif architecture != manifest["architecture"]:
        say(
            f"The images are for {manifest['architecture']}, and Docker here is {architecture}: they stay in the bundle"
        )
    else:
        command = ["docker", "load", "--quiet"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as docker:
            assert docker.stdin is not None
            copied(opened(archive, "images.tar"), docker.stdin)
            docker.stdin.close()
        if docker.returncode != 0:
            raise setup.SetupError("Docker could not load the images; its words are above. Copy the bundle again.")
        say(f"{len(manifest['images'])} images loaded into Docker")


def engine_architecture() -> str | None:
    if shutil.which("docker") is None:
        return None
    asked = ["docker", "version", "--format", "{{.Server.Arch}}"]
    done = subprocess.run(asked, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def opened(archive: tarfile.TarFile, name: str) -> IO[bytes]:
    member = archive.extractfile(name)
    if member is None:
        raise KeyError(name)
    return member


def copied(source: IO[bytes], target: IO[bytes]) -> str:
    """Copy; return the SHA-256 of what was copied."""
    digest = hashlib.sha256()
    for block in iter(lambda: source.read(_BLOCK_BYTES), b""):
        digest.update(block)
        target.write(block)
    return digest.hexdigest()


def say(line: str) -> None:
    setup.say(line)


def main() -> None:
    setup.find_right_python(__file__)
    if len(sys.argv) != 2:
        raise setup.SetupError("Which bundle? make load-bundle ARGS=/media/stick/once-bundle.tar")
    load(Path(sys.argv[1]))
    setup.main()
    say("Ready. `make demo` needs no network any more.")


if __name__ == "__main__":
    try:
        main()
    except setup.SetupError as error:
        sys.exit(f"The bundle was not loaded. {error}")
    except KeyboardInterrupt:
        sys.exit("\nInterrupted. Run the same command again.")
