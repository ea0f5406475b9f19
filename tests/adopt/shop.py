"""A shop that has been there before us: a table of orders, and the outbox that an adopter lays beside it."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import psycopg
from sqlalchemy import MetaData, text

from shared.database import create_engine
from shared.outbox_tables import FIRST_POSITIONS, outbox_table, relay_tables
from tests.adopt.pages import FOLDER

ORDERS = "CREATE TABLE shop_order (id uuid PRIMARY KEY, state text NOT NULL, version integer NOT NULL DEFAULT 0)"


@dataclass(frozen=True, slots=True)
class Shop:
    url: str
    """As SQLAlchemy wants it; ``plain`` is libpq's."""

    @property
    def plain(self) -> str:
        return self.url.replace("+psycopg", "")

    @classmethod
    def open(cls, url: str) -> "Shop":
        shop = cls(url)
        engine = create_engine(url, None, "test")
        metadata = MetaData()
        outbox_table(metadata)
        relay_tables(metadata)
        metadata.create_all(engine)
        with engine.begin() as connection:
            connection.execute(text(FIRST_POSITIONS))
            connection.execute(text(ORDERS))
        engine.dispose()
        return shop

    @classmethod
    def by_script(cls, url: str) -> "Shop":
        """Open one as an adopter without our declarations does."""
        run_script(url, "outbox.sql")
        Shop(url).rows(f"{ORDERS}; SELECT 1")
        return cls(url)

    def new_order(self) -> UUID:
        order_id = uuid4()
        self.rows("INSERT INTO shop_order VALUES (%s, 'placed', 0) RETURNING id", order_id)
        return order_id

    def order(self, order_id: UUID) -> tuple[str, int]:
        ((state, version),) = self.rows("SELECT state, version FROM shop_order WHERE id = %s", order_id)
        return state, version

    def told(self, order_id: UUID) -> list[int]:
        """Return the versions of the order's events, in the order in which a relay will read them."""
        query = "SELECT aggregate_version FROM outbox WHERE aggregate_id = %s ORDER BY id"
        return [version for (version,) in self.rows(query, str(order_id))]

    def rows(self, query: str, *parameters: object) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.plain, autocommit=True) as connection:
            cursor = connection.execute(query.encode(), parameters or None)
            while cursor.nextset():
                pass  # the last statement answers
            return cursor.fetchall()


def run_script(url: str, name: str) -> None:
    """Run a script of docs/adopt in one transaction, as its page says."""
    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        connection.execute((FOLDER / name).read_bytes())
