"""Every way to write an event that docs/adopt names, as its page has it: one contract for all drivers.

Seen red: the session's page without its flush (the outbox refuses a version that two have told), and with a count that
is left to SQLAlchemy (an order that does not change keeps its version).
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from uuid import UUID

import psycopg
import pytest
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from shared.database import create_engine
from tests.adopt import pages
from tests.adopt.frameworks import django_page, needs
from tests.adopt.shop import Shop

Write = Callable[[Shop, UUID, Exception | None], None]
"""Confirm an order in a transaction, which then ends with this error, if any."""


def by_psycopg(shop: Shop, order_id: UUID, error: Exception | None) -> None:
    confirm = pages.python("psycopg.md")["confirm"]
    with psycopg.connect(shop.plain) as connection, connection.transaction():
        confirm(connection, order_id, "R-1")
        fail(error)


def by_async_psycopg(shop: Shop, order_id: UUID, error: Exception | None) -> None:
    confirm = pages.python("psycopg.md")["confirm_async"]

    async def write() -> None:
        async with await psycopg.AsyncConnection.connect(shop.plain) as connection, connection.transaction():
            await confirm(connection, order_id, "R-1")
            fail(error)

    asyncio.run(write())


def by_session(shop: Shop, order_id: UUID, error: Exception | None) -> None:
    confirm = pages.python("sqlalchemy-orm.md")["confirm"]
    engine = create_engine(shop.url, None, "test")
    with Session(engine) as session, session.begin():
        confirm(session, order_id, "R-1")
        fail(error)
    engine.dispose()


def by_async_session(shop: Shop, order_id: UUID, error: Exception | None) -> None:
    confirm = pages.python("sqlalchemy-orm.md")["confirm_async"]

    async def write() -> None:
        engine = create_async_engine(shop.url)
        async with AsyncSession(engine) as session, session.begin():
            await confirm(session, order_id, "R-1")
            fail(error)
        await engine.dispose()

    asyncio.run(write())


def by_fastapi(shop: Shop, order_id: UUID, error: Exception | None) -> None:
    confirm = pages.python("fastapi.md")["confirm"]

    async def write() -> None:
        engine = create_async_engine(shop.url)
        async with engine.begin() as connection:
            await confirm(connection, order_id, "R-1")
            fail(error)
        await engine.dispose()

    asyncio.run(write())


def by_django(shop: Shop, order_id: UUID, error: Exception | None) -> None:
    confirm = django_page(shop)["confirm"]
    from django.db import connection, transaction

    try:
        with transaction.atomic():
            confirm(order_id, "R-1")
            fail(error)
    finally:
        connection.close()  # each thread has its own


def fail(error: Exception | None) -> None:
    if error is not None:
        raise error


WAYS = [
    by_psycopg,
    by_async_psycopg,
    by_session,
    by_async_session,
    by_fastapi,
    pytest.param(by_django, marks=needs("django")),
]


@pytest.mark.parametrize("write", WAYS)
def test_state_and_event_commit_together(shop: Shop, write: Write) -> None:
    """The event has the version that the row has now."""
    order_id = shop.new_order()
    write(shop, order_id, None)
    assert shop.order(order_id) == ("confirmed", 1)
    assert shop.told(order_id) == [1]


@pytest.mark.parametrize("write", WAYS)
def test_state_and_event_go_back_together(shop: Shop, write: Write) -> None:
    """What did not happen is not told."""
    order_id = shop.new_order()
    with pytest.raises(ValueError, match="too late"):
        write(shop, order_id, ValueError("too late"))
    assert shop.order(order_id) == ("placed", 0)
    assert shop.told(order_id) == []


@pytest.mark.parametrize("write", WAYS)
def test_events_of_one_order_are_read_in_the_order_of_its_versions(shop: Shop, write: Write) -> None:
    """However many writers it has at once: each draws its id behind the row's lock."""
    order_id = shop.new_order()

    def write_until_it_holds(_number: int) -> None:
        for _try in range(100):
            with suppress(StaleDataError):
                return write(shop, order_id, None)
        pytest.fail("somebody else was always quicker")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write_until_it_holds, range(24)))
    assert shop.told(order_id) == list(range(1, 25))
