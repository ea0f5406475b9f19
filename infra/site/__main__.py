"""Build the site: ``python -m infra.site [FOLDER]`` (``make docs``). Needs the package index once, then nothing."""

import argparse
import hashlib
import subprocess
import sys
import venv
from pathlib import Path

from infra.local.home import PROJECT
from infra.site import sources

BUILD = PROJECT / "build"
LOCK = PROJECT / "requirements" / "docs.txt"


def generator(folder: Path) -> Path:
    """Return an environment's Python that has what the lock says, and nothing else. Made at the first use."""
    python, note = folder / "bin" / "python", folder / "locked"
    digest = hashlib.sha256(LOCK.read_bytes()).hexdigest()
    if note.exists() and note.read_text(encoding="ascii") == digest:
        return python
    venv.create(folder, with_pip=True, clear=True)
    options = ["--quiet", "--disable-pip-version-check", "--require-hashes", "--no-deps", "--only-binary", ":all:"]
    subprocess.run([python, "-m", "pip", "install", *options, "-r", LOCK], check=True)
    note.write_text(digest, encoding="ascii")
    return python


def build(target: Path) -> None:
    """Write the site. Raises CalledProcessError for anything that Sphinx warns of, such as a link to nowhere."""
    written = BUILD / "site-source"
    sources.write(written)
    python = generator(BUILD / "site-generator")
    settings = PROJECT / "infra" / "site"
    quiet_and_strict = ("-W", "--keep-going", "-n", "-q", "-E")
    places = ("-d", str(BUILD / "site-cache"), "-c", str(settings), str(written), str(target))
    subprocess.run([python, "-m", "sphinx", *quiet_and_strict, "-b", "html", *places], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m infra.site", description="Build the documents as a site.")
    parser.add_argument("folder", nargs="?", type=Path, default=BUILD / "site", help="where to (default: build/site)")
    target: Path = parser.parse_args().folder
    try:
        build(target)
    except subprocess.CalledProcessError as error:
        sys.exit(f"The site was not built: `{Path(error.cmd[2]).name}` ended with {error.returncode}; see above.")
    print(f"Open {target / 'index.html'} in a browser; it needs no network.")  # noqa: T201  # the answer of a command


if __name__ == "__main__":
    main()
