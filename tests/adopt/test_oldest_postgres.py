"""What is promised of outbox, relay, inbox and retention holds on the oldest PostgreSQL that is promised, too.

The very tests that hold it on the newest are run there. Seen red by ``uuid_extract_version`` (PostgreSQL 17) in the
inbox's functions, as they had it once.
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
    "writers": ["tests/integration/shared/test_outbox.py", "tests/adopt/test_writers.py", "tests/adopt/test_files.py"],
    "relay": [
        f"tests/integration/relay/test_{name}.py"
        for name in ("relay", "lanes", "parking", "rewind", "retention", "read_plan", "hammer")
    ],
    "inbox": [
        f"tests/integration/shared/test_{name}.py"
        for name in ("inbox", "inbox_partitions", "inbox_redrive", "retention", "schema_version")
    ],
    "services": [
        "tests/integration/orders/test_migrations.py",
        "tests/integration/orders/test_place_order.py",
        "tests/integration/billing/test_billing_schema.py",
        "tests/integration/billing/test_bill_orders.py",
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
