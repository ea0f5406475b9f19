"""kill -9 of a member at every step between two durable actions, by both group protocols."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from shared.failpoints import Failpoint
from tests.conftest import TopicFactory, eventually
from tests.integration.billing.members import Crew, crew
from tests.integration.billing.orders import cancelled, deliver, placed, rows
from tests.integration.billing.test_billing_consumer import publish

pytestmark = [pytest.mark.full, pytest.mark.timeout(180)]

POINTS = [point for point in Failpoint if point.startswith("consumer.")]


@pytest.fixture(params=["consumer", "classic"])
def members(
    request: pytest.FixtureRequest, engine: Engine, database_url: str, kafka: str, topic: TopicFactory, tmp_path: Path
) -> Iterator[Crew]:
    with crew(database_url, kafka, topic(3), request.param, tmp_path) as made:
        yield made


@pytest.mark.parametrize("point", POINTS)
def test_a_member_killed_at_any_step_loses_and_doubles_nothing(engine: Engine, members: Crew, point: Failpoint) -> None:
    """The first batch is whole, the second ends with SIGKILL; whoever comes next bills what is left, once.

    Seen red: with offsets committed before the effect, where the kill before the commit loses its batch; and with an
    inbox that calls everything new, where the kill before the offset has its batch tried twice, and refused by the
    bills' own key.
    """
    orders = [placed() for _ in range(60)]
    batch = deliver(*orders, *(cancelled(order) for order in orders[:10]))
    publish(members.kafka, members.topic, batch[:30])
    members.start("killed", f"{point}=exit@2", BATCH_SIZE="20")
    killed = members.members["killed"]
    publish(members.kafka, members.topic, batch[30:])
    eventually(lambda: killed.poll() == -9, 40, lambda: members.log("killed").read_text()[-3000:])

    members.start("heir", BATCH_SIZE="20")
    eventually(lambda: rows(engine, "SELECT count(*) FROM inbox") == [(70,)], 60, "the heir applies what is left")
    eventually(lambda: sum(members.committed().values()) == 70, 20, "and commits its offsets")
    assert members.end("heir") == 0
    assert rows(engine, "SELECT count(*), count(DISTINCT order_id) FROM invoice") == [(60, 60)]
    assert rows(engine, "SELECT count(*), count(DISTINCT order_id) FROM credit_note") == [(10, 10)]
    assert rows(engine, "SELECT max(sequence) FROM invoice") == [(60,)]
    assert rows(engine, "SELECT count(*) FROM outbox") == [(60 + 60 + 10,)]
    assert rows(engine, "SELECT * FROM inbox_parked") == []
