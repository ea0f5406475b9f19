"""The words of docs/how-to/restore-a-database.md, executed."""

import re
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from services.relay.relay import Pace, Relay
from shared import database
from shared.errors import RefusedError
from shared.events import OrderConfirmed
from shared.outbox import add, new_event
from tests.integration.relay.recording import Log, RecordingTransport

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "restore-a-database.md"


def rebase_of_the_page() -> str:
    found = re.search(r"```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found, "the page has lost its commands"
    return found.group(1)


def relay(url: str, log: Log) -> Relay:
    return Relay(
        connect=partial(database.connect, url, None, "relay"),
        transport=RecordingTransport(log, 0),
        destination="event",
        name="relay",
        pace=Pace(),
    )


def test_after_a_rebase_everything_is_published_again_in_order(engine: Engine, outbox_url: str) -> None:
    """A restored outbox stops the relay; the page's commands make it go on, and nothing is lost."""
    versions = list(range(1, 31))
    for version in versions:
        payload = OrderConfirmed(order_id="order-1", invoice_number="1")
        with engine.begin() as connection:
            add(connection, new_event("order", "order-1", version, payload, source="/orders"))
    assert relay(outbox_url, Log()).drain_once() == 30
    with engine.begin() as connection:  # what a dump into another, younger cluster leaves behind
        connection.execute(text("UPDATE outbox SET xid = (xid::text::bigint + 1000000000)::text::xid8"))
        connection.execute(text("UPDATE relay_position SET system_identifier = '1'"))
    with pytest.raises(RefusedError, match=PAGE.name):
        relay(outbox_url, Log()).drain_once()
    with database.connect(outbox_url, None, "operator") as connection:
        for statement in rebase_of_the_page().split(";"):
            if statement.strip():
                connection.execute(statement)
    log = Log()
    assert relay(outbox_url, log).drain_once() == 30
    assert [row.aggregate_version for row in log.rows()] == versions
