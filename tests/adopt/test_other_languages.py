"""An event written without a line of ours: by psql, from the script in the page."""

import subprocess
from functools import partial
from pathlib import Path
from uuid import UUID, uuid4

import msgspec
import psycopg
import pytest
from psycopg import sql
from uuid_utils.compat import uuid7

from infra.local.postgres_programs import wheel
from services.relay.pace import Pace
from services.relay.relay import Relay
from shared import database, events
from shared.dedup_window import own_time
from tests.adopt import pages
from tests.adopt.shop import Shop
from tests.integration.relay.recording import Log, RecordingTransport

SCRIPT = pages.blocks("other-languages.md", "sql")[0]
COLUMNS = (
    "event_id, aggregate_type, aggregate_id, aggregate_version, destination, type, source, dataschema, payload, "
    "traceparent"
)


def psql(url: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    script = folder / "confirm.sql"
    script.write_text(SCRIPT, encoding="utf-8")
    settings = [word for name, value in variables.items() for word in ("-v", f"{name}={value}")]
    command = [str(wheel() / "bin" / "psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", *settings, "-f", str(script), url]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={"PATH": ""})


def confirm(shop: Shop, folder: Path, order_id: UUID, event_id: UUID) -> subprocess.CompletedProcess[str]:
    payload = msgspec.json.encode({"order_id": str(order_id), "invoice_number": "R-1"}).decode()
    return psql(shop.plain, folder, order_id=str(order_id), event_id=str(event_id), payload=payload)


def test_an_event_of_a_foreign_writer_is_relayed_and_read(shop: Shop, tmp_path: Path) -> None:
    """Its payload is what our consumers know, its id has a time, and its versions count."""
    order_id, event_ids = shop.new_order(), [uuid7(), uuid7()]
    for event_id in event_ids:
        done = confirm(shop, tmp_path, order_id, event_id)
        assert done.returncode == 0, done.stderr
    log = Log()
    Relay(
        connect=partial(database.connect, shop.url, None, "relay-1"),
        transport=RecordingTransport(log, 0),
        destination="event",
        name="relay-1",
        pace=Pace(),
    ).drain_once()
    rows = [row for row in log.rows() if row.aggregate_id == str(order_id)]
    assert [(row.event_id, row.aggregate_version) for row in rows] == [(str(event_ids[0]), 1), (str(event_ids[1]), 2)]
    payload = events.decode(rows[0].type, rows[0].payload, rows[0].dataschema)
    assert payload == events.OrderConfirmed(order_id=str(order_id), invoice_number="R-1")
    assert own_time(UUID(rows[0].event_id)) is not None


def test_a_refused_event_takes_its_change_back(shop: Shop, tmp_path: Path) -> None:
    """The same event id a second time: neither event nor state, since both are in one transaction."""
    order_id, event_id = shop.new_order(), uuid7()
    assert confirm(shop, tmp_path, order_id, event_id).returncode == 0
    assert "outbox_event_id_key" in confirm(shop, tmp_path, order_id, event_id).stderr
    assert shop.order(order_id) == ("confirmed", 1)


def test_a_writer_with_the_rights_that_the_page_names_cannot_choose_its_id(shop: Shop) -> None:
    """Who could set xid and id could break the order of everybody else's events."""
    role = f"foreign_{uuid4().hex[:8]}"
    name = sql.Identifier(role)
    with psycopg.connect(shop.plain, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE ROLE {}").format(name))
        try:
            grant = f"GRANT INSERT ({COLUMNS}) ON outbox TO {role}"
            connection.execute(grant.encode())
            connection.execute(sql.SQL("SET ROLE {}").format(name))
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("INSERT INTO outbox (xid) VALUES ('3')")
        finally:
            connection.execute("RESET ROLE")
            connection.execute(sql.SQL("DROP OWNED BY {}").format(name))
            connection.execute(sql.SQL("DROP ROLE {}").format(name))
