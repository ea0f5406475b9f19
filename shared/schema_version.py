"""Which version of their schema the tables of outbox and inbox have, and who may work on them.

It is written on the tables themselves, as a comment on the first of each set, so that it goes wherever they go: through
a dump, into another project, into a database that no migration of ours has seen.

    effectively-once outbox 3, for code from 2 on

reads: the tables are as version 3 of the code wants them, and code of version 2 may work on them too. So tables are
migrated first and programs after them, one by one, and a change that older programs cannot bear says so.

Invariant: a relay and a consumer look at it on every new connection, before anything else, and a program that is not
for these tables stops with words. Writers are not checked: they name their columns, and new ones have defaults.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from psycopg import Connection
from sqlalchemy import Engine, event

from shared.errors import RefusedError

_LOOK: Final = "SELECT to_regclass(%(table)s)::oid, obj_description(to_regclass(%(table)s), 'pg_class')"
_WRITTEN: Final = re.compile(r"effectively-once (?P<table>\w+) (?P<version>\d+), for code from (?P<oldest>\d+) on")
_PAGE: Final = "docs/adopt/schema-versions.md"


@dataclass(frozen=True, slots=True)
class Schema:
    """A set of tables, known by its first. ``oldest``: the oldest code that may work on tables of this version."""

    table: str
    version: int
    oldest: int

    @property
    def comment(self) -> str:
        return f"effectively-once {self.table} {self.version}, for code from {self.oldest} on"

    def check(self, execute: Callable[[Any, Any], Any]) -> None:
        """Raise RefusedError, with what to do, unless this code may work on the tables that are there.

        ``execute`` runs a statement with named parameters and returns a cursor, as a psycopg connection's does.
        """
        oid, comment = execute(_LOOK, {"table": self.table}).fetchone()
        if oid is None:
            raise RefusedError(
                f"There is no table {self.table!r} in this database, or this role cannot see it. {self._cure()}"
            )
        written = _WRITTEN.fullmatch(comment or "")
        if written is None or written["table"] != self.table:
            raise RefusedError(
                f"The table {self.table!r} does not say which version of its schema it has (its comment is "
                f"{comment!r}), so it is from before versions were kept, or its comment was changed. {self._cure()}"
            )
        self._compare(int(written["version"]), int(written["oldest"]))

    def _compare(self, version: int, oldest: int) -> None:
        if version < self.version:
            raise RefusedError(
                f"The tables of the {self.table} have version {version} of their schema, and this program needs "
                f"{self.version}: what it would write is not there yet. {self._cure()}"
            )
        if oldest > self.version:
            raise RefusedError(
                f"The tables of the {self.table} have version {version} of their schema, for programs from version "
                f"{oldest} on, and this one is of version {self.version}: it would misread them. Start the release "
                f"that the tables were migrated for; {_PAGE} says which."
            )

    def _cure(self) -> str:
        return (
            f"Nothing was read or written. Migrate the database (`python -m infra.migrate`, done by `once up`; with "
            f"tables of your own, run what {_PAGE} names), then start this again."
        )


def expect(engine: Engine, schema: Schema) -> None:
    """Check every new connection of an engine: whoever asks for one gets RefusedError instead."""

    def check(connection: Connection[Any], _record: object) -> None:
        schema.check(connection.execute)
        connection.rollback()  # the look was a transaction, and the engine's own have not begun

    event.listen(engine, "connect", check)
