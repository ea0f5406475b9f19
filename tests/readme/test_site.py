"""The documents as a site: built strictly, and whole without a network."""

import re
from pathlib import Path

import pytest

from infra.site import sources
from infra.site.__main__ import build

_LOADED = re.compile(r"<(?:script|img|link|iframe|source)\b[^>]*?(?:src|href)=\"((?:https?:)?//[^\"]+)\"")


def test_every_document_is_in_the_contents_once() -> None:
    """A page that was added without a chapter is under More; none is lost."""
    known = set(sources.documents())
    listed = [line for line in sources.index(known).splitlines() if re.fullmatch(r"[\w./-]+", line)]
    assert sorted(listed) == sorted(str(path.with_suffix("")) for path in known)


@pytest.mark.full
@pytest.mark.timeout(240)
def test_the_site_is_built_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    """Any warning, such as a link to nowhere, would have stopped it. Seen red with a link to a missing heading."""
    build(tmp_path)
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) >= len(sources.documents())
    assert (tmp_path / "searchindex.js").stat().st_size > 10_000
    loaded = {url for page in pages for url in _LOADED.findall(page.read_text(encoding="utf-8"))}
    assert loaded == set()
    styles = "\n".join(path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.css"))
    assert not re.search(r"url\([\"']?(https?:)?//", styles)
