"""A change of a table raises the version that the table says it has."""

import hashlib
import re

import pytest

from infra.contracts import tables
from shared import inbox, outbox_tables
from shared.schema_version import Schema

DIGESTS = {
    "outbox 1": "c0260a3fed1a6abb",
    "inbox 1": "cdfca1135ef314f2",
    "inbox 2": "6af7b799ed76450c",
}
"""What each version's script comes to, without its comments. A line is added, never changed."""


@pytest.mark.parametrize("schema", [outbox_tables.SCHEMA, inbox.SCHEMA], ids=lambda schema: schema.table)
def test_tables_of_one_version_are_one_and_the_same(schema: Schema) -> None:
    """Seen red by a column more in each. The cure is a new version, not a new digest: docs/adopt/schema-versions.md."""
    script = tables.scripts()[f"{schema.table}.sql"]
    statements = re.sub(r"^(--.*|COMMENT ON TABLE .*)\n", "", script, flags=re.MULTILINE)
    digest = hashlib.sha256(statements.encode()).hexdigest()[:16]
    assert DIGESTS.get(f"{schema.table} {schema.version}") == digest, (
        f"the tables of the {schema.table} have changed: raise its version ({digest}) and write its migration"
    )


@pytest.mark.parametrize("schema", [outbox_tables.SCHEMA, inbox.SCHEMA], ids=lambda schema: schema.table)
def test_the_page_says_what_to_run_for_it(schema: Schema) -> None:
    """Whoever is stopped by the check is sent there."""
    page = (tables.FOLDER / "schema-versions.md").read_text(encoding="utf-8")
    assert f"| {schema.table} {schema.version} |" in page
    assert schema.comment in page
