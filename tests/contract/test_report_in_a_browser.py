"""The report opens in a real browser without a complaint, on a screen and on paper."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from chaos.checker.verdict import judge
from chaos.report import write
from chaos.specimens import every_shape

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def browser() -> str:
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None and os.environ.get("CI"):
        pytest.fail("There is no Chromium here, and CI has to have one: install the system's package `chromium`.")
    if found is None:
        pytest.skip("needs Chromium (Debian, Ubuntu: apt-get install chromium)")
    return found


@pytest.fixture(scope="module", params=["good", "bad"])
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("report")
    history = every_shape()
    if request.param == "bad":
        history.rows["db/billing/invoice"] *= 2
    evidence = history.write(directory / "evidence")
    return write(judge(evidence), evidence, directory)


def look(browser: str, page: Path, *options: str) -> str:
    """Open the page and return what the browser said."""
    profile = page.parent / "profile"
    command = [
        browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", "--window-size=1366,900",
        "--enable-logging=stderr", "--virtual-time-budget=2000", *options, page.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout + "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)


def test_it_loads_without_a_word_on_the_console(browser: str, page: Path) -> None:
    """Everything is drawn, and the browser complains of nothing."""
    said = look(browser, page, "--dump-dom")

    assert said.count("<svg") >= 6
    assert "CONSOLE" not in said


def test_it_can_be_photographed_and_printed(browser: str, page: Path) -> None:
    """A picture of laptop width and pages of paper come out, neither of them empty."""
    picture, paper = page.parent / "report.png", page.parent / "report.pdf"
    look(browser, page, f"--screenshot={picture}")
    look(browser, page, f"--print-to-pdf={paper}")

    assert picture.stat().st_size > 20_000
    assert paper.stat().st_size > 20_000
