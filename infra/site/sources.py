"""What the site is made of: the project's Markdown in a folder of its own, with links that hold inside of the site.

Documents keep their places, so links between them stay as they are. A link to code becomes its text: the site is read
without the repository. Other files that documents link (schemas, plots) go along. Diagrams that GitHub draws are drawn
here, since on the site nobody else would.
"""

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from infra.local.home import PROJECT
from infra.site import state_diagram

ROOTS: Final = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
FOLDERS: Final = ("docs", "chaos", "examples", "loadtests")
ALONG: Final = {".json", ".svg", ".png", ".sql"}

CHAPTERS: Final[Mapping[str, Sequence[str]]] = {
    "Start": ("README", "docs/first-run", "docs/do-you-need-this", "docs/glossary", "docs/workshop/"),
    "Understand": (
        "docs/architecture",
        "docs/saga",
        "docs/guarantees",
        "docs/from-the-textbook",
        "docs/checklist",
    ),
    "How to": ("docs/how-to/README", "docs/how-to/"),
    "Adopt": ("docs/adopt/README", "docs/adopt/", "examples/"),
    "Run": (
        "docs/relay",
        "docs/engines",
        "docs/parking",
        "docs/replay",
        "docs/retention",
        "docs/cluster",
        "docs/sizing",
    ),
    "Prove": ("chaos/README", "chaos/", "docs/faults", "docs/reading-a-report", "docs/evidence-format", "loadtests/"),
    "Measured": ("docs/benchmarks/",),
    "Reference": ("docs/reference/README", "docs/reference/", "docs/contracts/README"),
    "Decisions": ("docs/decisions/README", "docs/decisions/"),
}
"""Chapter → documents in their order, without the ending; with a slash at the end, all below that are not named yet."""

_LINK: Final = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>(?!\w+:|#)[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")


_ANSWER: Final = "<!-- you should see -->"
_SHOWN: Final = '<p class="answer">You should see:</p>'
"""On the site, where commands and answers look alike and a comment is nowhere."""

_DIAGRAM: Final = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def documents() -> list[Path]:
    """Return the documents, as paths from the project's folder."""
    found = [path for folder in FOLDERS for path in sorted((PROJECT / folder).rglob("*.md"))]
    return [Path(name) for name in ROOTS] + [path.relative_to(PROJECT) for path in found]


def write(folder: Path) -> None:
    """Write all sources anew."""
    shutil.rmtree(folder, ignore_errors=True)
    known = set(documents())
    for document in known:
        target = folder / document
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_inside(document, known, folder), encoding="utf-8")
    (folder / "index.md").write_text(index(known), encoding="utf-8")


def _inside(document: Path, known: set[Path], folder: Path) -> str:
    """Return a document's text with links that lead out of the site taken out."""

    def link(found: re.Match[str]) -> str:
        target = (PROJECT / document.parent / found["target"]).resolve()
        if not target.is_relative_to(PROJECT):
            return found["text"]
        inside = target.relative_to(PROJECT)
        if target.suffix in ALONG and target.is_file():
            (folder / inside).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(target, folder / inside)
            return found[0]
        return found[0] if inside in known else found["text"]

    text = (PROJECT / document).read_text(encoding="utf-8")
    return _LINK.sub(link, _DIAGRAM.sub(_drawn, text.replace(_ANSWER, _SHOWN)))


def _drawn(diagram: re.Match[str]) -> str:
    return f"```{{raw}} html\n{state_diagram.svg(diagram[1])}\n```"


def index(known: set[Path]) -> str:
    """Return the first page: what this is, and all documents by chapter."""
    return "\n\n".join(["# effectively-once", _INTRODUCTION, *_chapters(known)]) + "\n"


_INTRODUCTION: Final = """\
A reference microservices system in Python that shows how an order becomes **one** invoice, although relays die,
consumers are rebalanced and whole topics are replayed, and that *proves* it. New here? Begin with the
[README](README.md). To copy parts of it: [do you need this?](docs/do-you-need-this.md),
[how to](docs/how-to/README.md), [from the textbook](docs/from-the-textbook.md)."""


def _chapters(known: set[Path]) -> Iterator[str]:
    names = sorted(str(path.with_suffix("")) for path in known)
    taken: set[str] = set()
    for title, places in CHAPTERS.items():
        found = [name for place in places for name in _named(place, names, taken)]
        if found:
            yield _toctree(title, found)
    if rest := [name for name in names if name not in taken]:
        yield _toctree("More", rest)


def _named(place: str, names: Sequence[str], taken: set[str]) -> list[str]:
    wanted = [
        name for name in names if name not in taken and (name.startswith(place) if place[-1] == "/" else name == place)
    ]
    taken.update(wanted)
    return wanted


def _toctree(title: str, names: Sequence[str]) -> str:
    return "\n".join(["```{toctree}", f":caption: {title}", ":maxdepth: 1", "", *names, "```"])
