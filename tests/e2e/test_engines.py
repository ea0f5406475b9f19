"""Debezium meets a row that the broker does not take: it stops with words, and relays find the way on."""

from functools import partial
from uuid import uuid4

import pytest

from infra.engine import switch
from infra.local.errors import StackError
from infra.local.stack import LocalStack
from infra.status.feeds import complaints, feeds
from tests.conftest import eventually
from tests.e2e.conftest import System

pytestmark = [pytest.mark.full, pytest.mark.timeout(400)]

_OVERSIZED = """
INSERT INTO outbox (event_id, aggregate_type, aggregate_id, aggregate_version, destination, type, source, dataschema,
                    payload)
VALUES (gen_random_uuid(), 'order', %s, 1, 'event', 'OrderPlaced', '/orders', 'oversized', %s) RETURNING id
"""


def test_an_oversized_row_stops_debezium_with_words_and_relays_go_on(stack: LocalStack, system: System) -> None:
    """Relays publish what it had not confirmed and park the row; a way back while it is parked is refused."""
    move = partial(switch, system.deployment, report=lambda _line: None, bootstrap=stack.servers.kafka)
    move("cdc")
    before = system.place()["order_id"]
    eventually(lambda: system.order(before)["state"] == "confirmed", 60, "an order is confirmed by way of Debezium")

    system.rows("orders", _OVERSIZED, str(uuid4()), b"x" * 2_000_000)
    eventually(lambda: feeds(system.deployment)["orders"].state == "FAILED", 60, "the connector has stopped")
    assert any("larger than" in said for said in complaints(feeds(system.deployment)))
    behind = system.place()["order_id"]

    move("polling")
    eventually(lambda: system.order(behind)["state"] == "confirmed", 60, "the order behind it is confirmed")
    parked = "SELECT state FROM outbox_parked"
    eventually(lambda: system.rows("orders", parked) == [{"state": "parked"}], 30, "the row is parked")
    with pytest.raises(StackError, match="once parked ls"):
        move("cdc")
