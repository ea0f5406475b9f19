"""The tables of outbox and inbox as plain SQL, for whoever has neither Alembic nor SQLAlchemy.

Made from the declarations and the statements that the migrations use, so that there is no second truth.
"""

from collections.abc import Callable
from typing import Final

from sqlalchemy import MetaData
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable, SetTableComment

from infra.local.home import PROJECT
from shared import inbox_partitions
from shared.inbox import inbox_table
from shared.inbox_parking import begun_table, inbox_parking_tables
from shared.outbox_tables import FIRST_POSITIONS, outbox_table, relay_tables
from shared.retention import BOUNDED_DROP, retention_table

FOLDER: Final = PROJECT / "docs" / "adopt"

_HEAD: Final = """\
-- {title}
-- Made from the code by `make contracts`; a test fails when it is stale. To be run once, as the owner of the tables.
"""


def scripts() -> dict[str, str]:
    """Return each script by its file's name."""
    return {
        "outbox.sql": _script("The outbox, and what its relay keeps.", _outbox),
        "inbox.sql": _script("The inbox in daily partitions, its parking lot, and the notes of its retention.", _inbox),
    }


def _script(title: str, steps: Callable[[Callable[[str], object]], None]) -> str:
    statements: list[str] = []
    steps(statements.append)
    lines = ["\n".join(line.rstrip() for line in each.strip().splitlines()) for each in statements]
    return "\n".join([_HEAD.format(title=title), *(f"{line};\n" for line in lines)])


def _outbox(execute: Callable[[str], object]) -> None:
    metadata = MetaData()
    outbox_table(metadata)
    relay_tables(metadata)
    _create(metadata, execute)
    execute(FIRST_POSITIONS)


def _inbox(execute: Callable[[str], object]) -> None:
    inbox, rest = MetaData(), MetaData()
    inbox_table(inbox).dialect_options["postgresql"]["partition_by"] = "RANGE (event_id)"
    inbox_parking_tables(rest)
    begun_table(rest)
    retention_table(rest)
    _create(inbox, execute)
    execute(f"CREATE TABLE {inbox_partitions.DEFAULT} PARTITION OF inbox DEFAULT")
    for statement in inbox_partitions.FUNCTIONS:
        execute(BOUNDED_DROP[0] if "CREATE FUNCTION inbox_drop_days" in statement else statement)
    execute(inbox_partitions.MAKE_DAYS)
    _create(rest, execute)


def _create(metadata: MetaData, execute: Callable[[str], object]) -> None:
    for table in metadata.sorted_tables:
        execute(str(CreateTable(table).compile(dialect=_DIALECT)).replace("\t", "  "))
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            execute(str(CreateIndex(index).compile(dialect=_DIALECT)))
        if table.comment:
            execute(str(SetTableComment(table).compile(dialect=_DIALECT)))


# Parameters by name, or every % would be doubled.
_DIALECT: Final = postgresql.dialect(paramstyle="named")  # type: ignore[no-untyped-call]
