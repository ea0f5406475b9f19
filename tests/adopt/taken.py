"""A part of the project as an adopter takes it: the files that a page names, and no package but those that it names."""

import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path
from subprocess import PIPE, Popen

import grimp
from packaging.requirements import Requirement

from tests.adopt.pages import FOLDER

PROJECT = FOLDER.parents[1]

_PART = re.compile(r"^## (?P<name>\w+)\n+Packages: (?P<packages>[^\n]*)\n+```text\n(?P<files>.*?)^```$", re.M | re.S)


@dataclass(frozen=True, slots=True)
class Part:
    packages: tuple[str, ...]
    files: tuple[str, ...]

    def take(self, folder: Path) -> "Taken":
        """Copy the files into an empty folder, and lay the packages beside them."""
        for file in self.files:
            target = folder / "project" / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(PROJECT / file, target)
        for found in _with_what_they_need(map(Requirement, self.packages)):
            _link(found, folder / "packages")
        return Taken(folder)


@dataclass(frozen=True, slots=True)
class Taken:
    folder: Path

    def write(self, name: str, code: str) -> None:
        (self.folder / "project" / name).write_text(code, encoding="utf-8")

    def start(self, *arguments: str, **environment: str) -> Popen[str]:
        """Start Python there. It sees this folder, these packages and the standard library."""
        project, packages = self.folder / "project", self.folder / "packages"
        return Popen(
            [sys.executable, "-S", *arguments],
            cwd=project,
            env={"PATH": "", "PYTHONPATH": f"{project}:{packages}", "PYTHONDONTWRITEBYTECODE": "1", **environment},
            stdout=PIPE,
            stderr=PIPE,
            text=True,
        )


def parts() -> dict[str, Part]:
    """Return what docs/adopt/files.md says of each part."""
    page = (FOLDER / "files.md").read_text(encoding="utf-8")
    return {
        found["name"]: Part(tuple(re.findall(r"`([^`]+)`", found["packages"])), tuple(found["files"].split()))
        for found in _PART.finditer(page)
    }


def needed(*modules: str) -> set[str]:
    """Return the files that these modules import, directly or not, with those of the packages they are in."""
    graph = grimp.build_graph("services", "shared", exclude_type_checking_imports=True)
    seen: set[str] = set()
    todo = list(modules)
    while todo:
        module = todo.pop()
        if module not in seen:
            seen.add(module)
            todo += graph.find_modules_directly_imported_by(module)
            todo += [module.rpartition(".")[0]] if "." in module else []
    return {_file(module) for module in seen}


def _file(module: str) -> str:
    path = Path(*module.split("."))
    return str(path / "__init__.py") if (PROJECT / path).is_dir() else f"{path}.py"


def _with_what_they_need(wanted: Iterable[Requirement]) -> Iterator[Distribution]:
    """Yield the installed distributions of these packages and of their dependencies, once each."""
    todo, seen = list(wanted), set()
    while todo:
        requirement = todo.pop()
        found = distribution(requirement.name)
        if (found.name, extras := frozenset(requirement.extras)) in seen:
            continue
        seen.add((found.name, extras))
        yield found
        for each in map(Requirement, found.requires or []):
            if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in extras or {""}):
                todo.append(each)


def _link(found: Distribution, folder: Path) -> None:
    """Link what a distribution has installed, file by file: some share a folder."""
    for file in found.files or []:
        link = folder / file
        if ".." not in file.parts and not link.exists():
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(Path(str(found.locate_file(file))))
