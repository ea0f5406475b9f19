"""What writes, relays and keeps the inbox works on the oldest PostgreSQL that is promised, too.

Tests that hold it on the newest are run there, as they are.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.adopt import oldest, pages
from tests.adopt.taken import PROJECT
from tests.conftest import OTHER_POSTGRES

pytestmark = [
    pytest.mark.full,
    pytest.mark.timeout(240),
    pytest.mark.skipif(not oldest.AVAILABLE, reason="only Linux x86-64 has a package with PostgreSQL 13"),
]

SETS = {
    "writers and a relay": ["tests/integration/shared/test_outbox.py", "tests/adopt/test_files.py"],
    "inbox": [
        f"tests/integration/shared/test_{name}.py"
        for name in ("inbox", "inbox_partitions", "retention", "schema_version")
    ],
}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with oldest.server() as url:
        yield url


@pytest.mark.parametrize("name", SETS)
def test_the_tests_of_the_newest_hold_on_the_oldest(server: str, name: str) -> None:
    """Whoever uses a function that came later sees it here."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-m", "not full", "-p", "no:cacheprovider", *SETS[name]],
        cwd=PROJECT,
        env={**os.environ, OTHER_POSTGRES: server},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:]
    assert int(re.findall(r"(\d+) passed", done.stdout)[-1]) >= 5


def test_the_page_names_what_is_tested() -> None:
    """The oldest that is promised is the one that is run here."""
    (locked,) = re.findall(r"binaries-\S+:(\d+)\.", (PROJECT / "requirements" / "oldest-postgres.lock").read_text())
    assert f"**PostgreSQL {locked}**" in (pages.FOLDER / "postgresql-versions.md").read_text(encoding="utf-8")
