"""The documents as a site: built strictly, and whole without a network."""

import os
import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from infra.site import sources, state_diagram
from infra.site.__main__ import build

_LOADED = re.compile(r"<(?:script|img|link|iframe|source)\b[^>]*?(?:src|href)=\"((?:https?:)?//[^\"]+)\"")
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def test_every_document_is_in_the_contents_once() -> None:
    """A page that was added without a chapter is under More; none is lost."""
    known = set(sources.documents())
    listed = [line for line in sources.index(known).splitlines() if re.fullmatch(r"[\w./-]+", line)]
    assert sorted(listed) == sorted(str(path.with_suffix("")) for path in known)


MACHINE = """stateDiagram-v2
    [*] --> open: asked [early & late] / Opened
    open --> shut: told / Shut, Rung
    shut --> open: asked
    shut --> [*]
"""


def test_a_state_machine_is_drawn_without_a_network() -> None:
    """Every state and every arrow's words are there, and no two texts lie over each other."""
    root = ElementTree.fromstring(state_diagram.svg(MACHINE))
    texts = [(float(each.attrib["x"]), float(each.attrib["y"]), each.text) for each in root.iter("text")]
    assert {text for _x, _y, text in texts} == {
        "open", "shut", "asked [early & late]", "→ Opened", "told", "→ Shut, Rung", "asked"
    }  # fmt: skip
    for column in {x for x, _y, _text in texts}:
        heights = sorted(y for x, y, _text in texts if x == column)
        assert all(lower - upper >= 12 for upper, lower in pairwise(heights))


def test_a_diagram_that_cannot_be_drawn_stops_the_build() -> None:
    """Rather than be shown as its text, or with an arrow less."""
    with pytest.raises(state_diagram.UndrawableError, match="flowchart"):
        state_diagram.svg("flowchart TD\n A --> B\n")
    with pytest.raises(state_diagram.UndrawableError, match="note"):
        state_diagram.svg(MACHINE + "    note right of open: hello\n")


def test_every_diagram_of_the_documents_is_drawn(tmp_path: Path) -> None:
    """Nothing is left for a browser to draw, which would have to fetch the means. Seen red without the drawing."""
    sources.write(tmp_path)
    written = {path: path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.md")}
    assert [str(path) for path, text in written.items() if "```mermaid" in text] == []
    assert written[tmp_path / "docs" / "saga.md"].count("<svg") == 2


def test_an_answer_is_told_from_a_command(tmp_path: Path) -> None:
    """A comment says it in the source, and no reader of the site would see that. Seen red without the words."""
    sources.write(tmp_path)
    readme = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "you should see -->" not in readme
    assert readme.count("You should see:") > 3


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build(folder)
    return folder


@pytest.mark.full
@pytest.mark.timeout(240)
def test_the_site_is_built_and_loads_nothing_from_elsewhere(site: Path) -> None:
    """A link to nowhere would have stopped it. Seen red with a link to a heading that is not there."""
    pages = list(site.rglob("*.html"))
    assert len(pages) >= len(sources.documents())
    loaded = {url for page in pages for url in _LOADED.findall(page.read_text(encoding="utf-8"))}
    assert loaded == set()
    styles = "\n".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert not re.search(r"url\([\"']?(https?:)?//", styles)


@pytest.mark.full
@pytest.mark.timeout(240)
def test_the_search_works_on_files_and_without_a_network(site: Path) -> None:
    """In a real browser that can reach nobody. Seen red without the index beside the page."""
    browser = next((path for name in _BROWSERS if (path := shutil.which(name))), None)
    if browser is None and os.environ.get("CI"):
        pytest.fail("There is no Chromium here, and CI has to have one: install the system's package `chromium`.")
    if browser is None:
        pytest.skip("needs Chromium (Debian, Ubuntu: apt-get install chromium)")
    page = f"file://{site}/search.html?q=retention"
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND"]
    shown = subprocess.run(
        [browser, *options, "--virtual-time-budget=10000", "--dump-dom", page],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout
    assert re.search(r"found \d+ pages", shown)
    assert "docs/retention.html" in shown.partition("search-results")[2]
