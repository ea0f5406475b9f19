"""A table without versions gets them, while code that does not know them goes on writing.

Seen red with a count that does not rise: versions are told twice, and the outbox refuses them.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID, uuid4

import psycopg
import pytest

from shared.events import OrderConfirmed
from shared.outbox import new_event, statement
from tests.adopt import pages
from tests.adopt.shop import Shop, run_script
from tests.conftest import DatabaseFactory

EXPAND, COUNT, TABLE_BESIDE, COUNT_BESIDE = pages.blocks("version-column.md", "sql")

Count = Callable[[psycopg.Connection, UUID], int]


def in_the_column(connection: psycopg.Connection, order_id: UUID) -> int:
    return version_by(connection, COUNT, order_id)


def beside_it(connection: psycopg.Connection, order_id: UUID) -> int:
    return version_by(connection, COUNT_BESIDE, str(order_id))


def version_by(connection: psycopg.Connection, statement: str, order_id: object) -> int:
    row = connection.execute(statement.encode(), {"id": order_id}).fetchone()
    assert row is not None
    return int(row[0])


@pytest.fixture
def old_shop(postgres_url: DatabaseFactory) -> Shop:
    """Return a shop that is full already and has never heard of versions."""
    shop = Shop(postgres_url())
    run_script(shop.url, "outbox.sql")
    with psycopg.connect(shop.plain) as connection:
        connection.execute("CREATE TABLE shop_order (id uuid PRIMARY KEY, state text NOT NULL)")
        connection.execute("INSERT INTO shop_order SELECT gen_random_uuid(), 'placed' FROM generate_series(1, 1000)")
    return shop


@pytest.mark.parametrize(("expand", "count"), [(EXPAND, in_the_column), (TABLE_BESIDE, beside_it)])
def test_versions_begin_while_older_code_goes_on(old_shop: Shop, expand: str, count: Count) -> None:
    """Eight writers at once, half of them of the release before, on two rows that were there already."""
    busy = [order_id for (order_id,) in old_shop.rows("SELECT id FROM shop_order LIMIT 2")]
    with psycopg.connect(old_shop.plain) as connection:
        connection.execute(expand.encode())

    def write(number: int) -> None:
        with psycopg.connect(old_shop.plain) as connection:
            if number % 2:
                older_code(connection, busy[number // 2 % 2])
            else:
                tell(connection, busy[number // 2 % 2], count)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(80)))
    assert [old_shop.told(order_id) for order_id in busy] == [list(range(1, 21))] * 2


def older_code(connection: psycopg.Connection, order_id: UUID) -> None:
    connection.execute("UPDATE shop_order SET state = 'touched' WHERE id = %s", [order_id])
    connection.execute("INSERT INTO shop_order (id, state) VALUES (%s, 'placed')", [uuid4()])


def tell(connection: psycopg.Connection, order_id: UUID, count: Count) -> None:
    version = count(connection, order_id)
    payload = OrderConfirmed(order_id=str(order_id), invoice_number="R-1")
    connection.execute(*statement(new_event("order", str(order_id), version, payload, source="/shop")))
