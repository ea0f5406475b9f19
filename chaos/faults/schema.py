"""A table changes its shape while orders keep coming: expand, fill, check, and only then contract.

Each step alone is harmless to code of the release before and of the one after. What is contracted at the end is what
was added, since today's release reads the old column: the tables of a run are at its end as they were.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import psycopg

from chaos.faults import Quiet
from chaos.history import FaultPhase
from chaos.stage import Stage
from infra.patience import LOCK_TIMEOUT, until_locked

EXPAND: Final = (
    # Without a default there is nothing to write: an instant, once the lock is there.
    "ALTER TABLE orders ADD COLUMN contact text",
    # Until nobody writes the old column alone any more, the database writes both.
    "CREATE FUNCTION keep_contact() RETURNS trigger LANGUAGE plpgsql AS "
    "'BEGIN NEW.contact := NEW.email; RETURN NEW; END'",
    "CREATE TRIGGER keep_contact BEFORE INSERT OR UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION keep_contact()",
)
FILL: Final = """
UPDATE orders SET contact = email WHERE order_id IN
  (SELECT order_id FROM orders WHERE contact IS NULL ORDER BY order_id LIMIT 100 FOR UPDATE SKIP LOCKED)
"""
"""A hundred rows a transaction: nobody waits for more than these, and a killed migration goes on where it stopped."""
CHECK: Final = (
    # Not valid at first, since to look at every row takes time under a lock; validating holds none that matters.
    "ALTER TABLE orders ADD CONSTRAINT contact_is_there CHECK (contact IS NOT NULL) NOT VALID",
    "ALTER TABLE orders VALIDATE CONSTRAINT contact_is_there",
    "CREATE INDEX CONCURRENTLY orders_contact ON orders (contact)",
)
CONTRACT: Final = (
    # What is demanded goes before what fulfils it: without the trigger, every new order would break the constraint.
    "ALTER TABLE orders DROP CONSTRAINT contact_is_there",
    "DROP INDEX CONCURRENTLY orders_contact",
    "DROP TRIGGER keep_contact ON orders",
    "DROP FUNCTION keep_contact()",
    "ALTER TABLE orders DROP COLUMN contact",
)
_PAUSE_SECONDS: Final = 0.5
_UNDO: Final = (
    "DROP INDEX IF EXISTS orders_contact",
    "DROP FUNCTION IF EXISTS keep_contact() CASCADE",
    "ALTER TABLE orders DROP COLUMN IF EXISTS contact",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpandAndContract(Quiet):
    """Give a table a column, fill it, constrain it and index it, and take it away again, beside a long reader.

    The reader is what a forgotten report does: its lock is the weakest, and a migration has to wait for its end.
    """

    reader_seconds: float = 6.0
    patient: bool = True
    """False: the migration waits in the queue for as long as it takes, and everybody behind it."""

    def inject(self, stage: Stage) -> None:
        stage.record(self.name, FaultPhase.INJECT, "orders")
        with stage.database("orders") as connection:
            with self._long_reader(stage):
                gave_up = self._do(connection, EXPAND)
            filled = self._fill(stage, connection)
            self._do(connection, CHECK)
            detail = f"gave way {gave_up} times to a long reader; {filled} rows filled, checked and indexed"
            stage.record(self.name, FaultPhase.HIT, "orders", detail=detail)
            self._do(connection, CONTRACT)

    @contextmanager
    def _long_reader(self, stage: Stage) -> Iterator[None]:
        with stage.database("orders") as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM orders")
            end = threading.Timer(self.reader_seconds, reader.rollback)
            end.start()
            yield
            end.join()

    def _do(self, connection: psycopg.Connection[Any], statements: tuple[str, ...]) -> int:
        """Each in a transaction of its own, again until it has its locks; return how often one gave up."""
        return sum(
            until_locked(partial(self._one, connection, each), lambda: None, pause=_PAUSE_SECONDS)
            for each in statements
        )

    def _one(self, connection: psycopg.Connection[Any], statement: str) -> None:
        # What is done concurrently keeps nobody waiting, and half of it would have to be cleared away.
        waits_long = "CONCURRENTLY" in statement or not self.patient
        connection.execute("RESET lock_timeout" if waits_long else LOCK_TIMEOUT)
        connection.execute(statement.encode())

    def _fill(self, stage: Stage, connection: psycopg.Connection[Any]) -> int:
        filled = 0
        while rows := connection.execute(FILL).rowcount:
            filled += rows
            stage.wait(0.02)
        return filled

    def heal(self, stage: Stage) -> None:
        with stage.database("orders") as connection:
            for statement in _UNDO:
                connection.execute(statement)
        stage.record(self.name, FaultPhase.HEAL, "orders", detail="the table is as it was")
