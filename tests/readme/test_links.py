"""Every link in a Markdown file leads to a file, a folder or a heading that is there."""

import re
from functools import cache
from pathlib import Path

import pytest

from infra.local.home import PROJECT
from infra.site.sources import documents

_LINK = re.compile(r"\]\((?!\w+:)([^)\s]*)\)")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#{1,6} (.+?)\s*$", re.MULTILINE)


@cache
def text(path: Path) -> str:
    return _FENCE.sub("", path.read_text(encoding="utf-8"))


@cache
def anchors(path: Path) -> set[str]:
    """Return the names that GitHub, and the site, give to a document's headings."""
    found: dict[str, int] = {}
    names = set()
    for heading in _HEADING.findall(text(path)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "").lower()
        name = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        names.add(name if name not in found else f"{name}-{found[name]}")
        found[name] = found.get(name, 0) + 1
    return names


@pytest.mark.parametrize("document", documents(), ids=str)
def test_links_lead_somewhere(document: Path) -> None:
    """Seen red with a heading renamed, and with a page moved."""
    broken = [link for link in _LINK.findall(text(PROJECT / document)) if not leads_somewhere(document, link)]
    assert broken == []


def leads_somewhere(document: Path, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = (PROJECT / document.parent / name) if name else PROJECT / document
    if not target.exists():
        return False
    return not anchor or target.suffix != ".md" or anchor in anchors(target.resolve())
