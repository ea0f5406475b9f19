"""The consumer of docs/do-you-need-this.md, which needs no inbox: its code is taken from the page."""

import random
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import Engine

from infra.local.home import PROJECT
from shared import database
from shared.events import OrderCancelled, OrderConfirmed, OrderPlaced
from shared.inbox import Delivery
from tests.conftest import DatabaseFactory
from tests.integration.analytics.news import cancelled, confirmed, deliver, invoiced, placed
from tests.readme.documents import code

PAGE = PROJECT / "docs" / "do-you-need-this.md"


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """Return what the page's code defines."""
    defined: dict[str, Any] = {}
    exec(compile("\n".join(code(PAGE.read_text(encoding="utf-8"), "python")), str(PAGE), "exec"), defined)
    return defined


@pytest.fixture
def engine(postgres_url: DatabaseFactory, page: dict[str, Any]) -> Iterator[Engine]:
    engine = database.create_engine(postgres_url(), None, "test")
    with engine.begin() as connection:
        connection.exec_driver_sql(page["HELP_DESK"])
    yield engine
    engine.dispose()


@pytest.mark.parametrize("seed", range(5))
def test_a_state_set_by_version_needs_no_inbox(engine: Engine, page: dict[str, Any], seed: int) -> None:
    """Copies, replays and any order of arrival end in one table: what keeps it so is the comparison of versions."""
    dice = random.Random(seed)
    expected, news = {}, []
    for number in range(40):
        order_id = str(uuid4())
        story = [placed(order_id), invoiced(order_id), confirmed(order_id), cancelled(order_id)][: 1 + number % 4]
        news += deliver(*story)
        expected[order_id] = _last_of_the_order(story)
    arrivals = news * 3
    dice.shuffle(arrivals)
    while arrivals:
        size = dice.randint(1, 30)
        _apply(engine, page, arrivals[:size])
        del arrivals[:size]
    with engine.connect() as connection:
        found = connection.exec_driver_sql("SELECT order_id, state FROM help_desk")
        assert {row.order_id: row.state for row in found} == expected


def _last_of_the_order(story: list[Any]) -> str:
    states = {OrderPlaced: "placed", OrderConfirmed: "confirmed", OrderCancelled: "cancelled"}
    return [states[type(each)] for each in story if type(each) in states][-1]


def _apply(engine: Engine, page: dict[str, Any], batch: list[Delivery]) -> None:
    with engine.begin() as connection:
        page["apply"](connection, batch)
