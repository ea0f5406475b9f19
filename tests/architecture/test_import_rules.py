"""Which module may import which: the contracts of pyproject.toml hold, and each of them can fail."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
PACKAGES = ("services", "shared", "infra", "chaos", "loadtests", "examples")

PLANTED = {
    "a": ("shared/clock.py", "import services.orders.errors"),
    "b": ("services/billing/errors.py", "import services.orders.errors"),
    "c": ("services/orders/errors.py", "import services.orders.api"),
    "d": ("shared/errors.py", "import shared.outbox"),
    "e": ("services/billing/bill_orders.py", "import confluent_kafka"),
    "f": ("chaos/checker/__init__.py", "import shared.events"),
    "g": ("loadtests/__init__.py", "import shared.events"),
    "h": ("chaos/client.py", "import services.orders.errors"),
    "i": ("infra/local/ports.py", "import services.orders.errors"),
    "j": ("examples/orders_in_django/urls.py", "import services.orders.errors"),
}
"""Contract → a file, and an import in it that the contract is there to catch."""


def test_every_contract_holds() -> None:
    assert broken(PROJECT) == set()


def test_every_contract_catches_the_import_it_is_there_for(tmp_path: Path) -> None:
    for package in PACKAGES:
        shutil.copytree(PROJECT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(PROJECT / "pyproject.toml", tmp_path)
    for file, line in PLANTED.values():
        path = tmp_path / file
        path.write_text(path.read_text(encoding="utf-8") + f"\n{line}\n", encoding="utf-8")
    assert broken(tmp_path) == set(PLANTED)


def broken(folder: Path) -> set[str]:
    """Return the letters of the contracts that do not hold for the packages in a folder."""
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run(
        [sys.executable, "-c", code, "--no-cache", "--no-logo"],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PATH": "", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    verdicts = re.findall(r"^\((\w)\) .*(KEPT|BROKEN)(?: \(.*\))?$", done.stdout, re.MULTILINE)
    if len(verdicts) < len(PLANTED):
        pytest.fail(f"the contracts were not judged: {done.stdout}{done.stderr}")
    return {letter for letter, verdict in verdicts if verdict == "BROKEN"}
