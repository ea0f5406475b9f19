"""Follow a how-to page literally, in a copy of the repository.

A block of code is preceded by a sentence that says where it goes, for people and for this module alike:

    New file `PATH`              the block is the file
    In `PATH`, before `LINE`:    the block comes before the one line that reads so; likewise ``after``
    In `PATH`, replace `LINE`:   the block takes that line's place

Command blocks are run in the copy's folder unless ``<!-- not run: why -->`` stands before them. A block that is there
to be looked at has ``<!-- for reading -->``; anything else is a mistake of the page.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from infra.local.home import PROJECT

_BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```\s*?$", re.MULTILINE | re.DOTALL)
_NEW = re.compile(r"New file `(?P<path>[^`]+)`")
_EDIT = re.compile(r"[Ii]n `(?P<path>[^`]+)`, (?P<where>before|after|replace) `(?P<line>[^`]+)`:?$")
_COPIED = ("chaos", "docs", "examples", "infra", "loadtests", "requirements", "services", "shared", "tests")
_LONG = re.compile(r"-m (pytest|mypy)|make contracts")
_SECONDS = 300


class PageError(AssertionError):
    """The page cannot be followed as it stands."""


@dataclass
class Copy:
    """A copy of the repository, in which a page is followed with this environment's packages."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    @classmethod
    def made_in(cls, folder: Path, **environment: str) -> "Copy":
        for name in _COPIED:
            shutil.copytree(PROJECT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", ".once"))
        for path in PROJECT.glob("*"):
            if path.is_file():
                shutil.copy(path, folder)
        return cls(folder, environment)

    def follow(self, page: str, *, tests: bool = True) -> None:
        """Do what the page says, in its order; ``tests=False`` leaves out what takes long, its checks and contracts."""
        for lead, language, text in steps((PROJECT / "docs" / "how-to" / page).read_text(encoding="utf-8")):
            self._step(lead, language, text, tests=tests)

    def _step(self, lead: str, language: str, text: str, *, tests: bool) -> None:
        if lead.endswith(("<!-- you should see -->", "<!-- for reading -->")) or "<!-- not run:" in lead:
            return
        if new := _NEW.search(lead):
            path = self.folder / new["path"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif edit := _EDIT.search(lead):
            self._edit(edit["path"], edit["where"], edit["line"].strip(), text)
        elif language == "console":
            for command in text.replace("\\\n", " ").splitlines():
                if tests or not _LONG.search(command):
                    self.run(command.removeprefix("$ "))
        else:
            raise PageError(f"Nobody is told where this block goes:\n{lead}\n{text}")

    def _edit(self, name: str, where: str, wanted: str, text: str) -> None:
        path = self.folder / name
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        places = [number for number, line in enumerate(lines) if line.strip() == wanted]
        if len(places) != 1:
            raise PageError(f"{name} has {len(places)} lines that read {wanted!r}, and the page needs exactly one.")
        start = places[0] + (where == "after")
        lines[start : start + (where == "replace")] = [text]
        path.write_text("".join(lines), encoding="utf-8")

    def run(self, command: str) -> str:
        """Run a command as a reader would, with the packages of this environment, and return what it printed."""
        command = command.replace("make contracts", ".venv/bin/python -m infra.contracts")
        command = command.replace(".venv/bin/python", sys.executable)
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(self.folder), **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            raise PageError(f"`{command}` ended with {done.returncode}:\n{done.stdout[-6000:]}")
        return done.stdout


def steps(text: str) -> Iterator[tuple[str, str, str]]:
    """Return each block with the paragraph before it and its language."""
    for found in _BLOCK.finditer(text):
        lead = text[: found.start()].rstrip().rpartition("\n\n")[2]
        yield " ".join(lead.split()), found["language"], found["text"]
