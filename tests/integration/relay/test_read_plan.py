"""What a look at a long outbox costs: plans that start from an index, whatever the planner believes.

The outbox is filled in one statement and never analysed, so statistics say that it is empty, and plans are generic, as
they are for a statement that a connection has prepared.
"""

import json
import os
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from sqlalchemy import Engine, text

from services.relay import identity, position, standing
from services.relay.position import Database
from shared import database
from tests.integration.relay.recording import Log
from tests.integration.relay.test_retention import ONE_EVENT
from tests.integration.relay.test_rewind import relay

HISTORY = int(os.environ.get("HISTORY_ROWS", "1000000"))

FILL = """
INSERT INTO outbox (event_id, aggregate_type, aggregate_id, aggregate_version, destination, type, source, dataschema,
                    payload)
SELECT gen_random_uuid(), 'order', 'order-' || n % 50000, :first + n / 50000, 'event', 'OrderConfirmed', '/orders', 's',
       '{}' FROM generate_series(0, :count - 1) AS n
"""


TYPES = {
    "floor_id": "bigint",
    "after_id": "bigint",
    "done": "text",
    "target": "text",
    "in_progress": "text[]",
    "destination": "text",
    "lanes": "smallint[]",
    "limit": "bigint",
}


def pages_and_scans(plan: dict[str, Any]) -> tuple[int, set[str]]:
    """Return how many pages a plan touched, and the kinds of its scans of the outbox."""
    scans = {plan["Node Type"]} if plan.get("Relation Name") == "outbox" else set()
    for part in plan.get("Plans", ()):
        scans |= pages_and_scans(part)[1]
    return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"], scans


def explain(
    connection: Database, query: str, parameters: dict[str, Any], *, generic: bool = False
) -> tuple[int, set[str]]:
    """Run a statement of ours, planned for its values or for any, and say what it touched."""
    explain = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "
    if generic:
        numbered = query % {name: f"${place}" for place, name in enumerate(TYPES, 1)}
        connection.execute("SET plan_cache_mode = force_generic_plan")
        connection.execute(f"PREPARE look ({', '.join(TYPES.values())}) AS {numbered}")
        values = ", ".join(f"%({name})s" for name in TYPES)
        with psycopg.ClientCursor(connection) as cursor:
            row = cursor.execute(f"{explain} EXECUTE look ({values})", parameters).fetchone()
        connection.execute("DEALLOCATE look")
    else:
        row = connection.execute(f"{explain} {query}", parameters).fetchone()
    assert row is not None
    plan = row[0] if isinstance(row[0], list) else json.loads(str(row[0]))
    return pages_and_scans(plan[0]["Plan"])


@pytest.fixture
def long_outbox(engine: Engine, outbox_url: str) -> Iterator[Database]:
    """An outbox whose history is published, with a held transaction that has written, and 3,000 rows to be read."""
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE outbox SET (autovacuum_enabled = false)"))
        connection.execute(text(FILL), {"first": 1, "count": HISTORY})
    with engine.connect() as held:
        held.execute(text(ONE_EVENT))
        with engine.begin() as connection:  # a snapshot lists what runs below the newest transaction that has ended
            connection.execute(text("SELECT pg_current_xact_id()"))
        with engine.begin() as connection:  # published in one step; what reading a million rows costs is not asked here
            connection.execute(
                text(
                    "UPDATE relay_position SET done = pg_current_snapshot(), "
                    "floor_id = pg_sequence_last_value('outbox_id_seq') WHERE destination = 'event'"
                )
            )
        with engine.begin() as connection:
            connection.execute(text(FILL), {"first": 100_000, "count": 3000})
        with database.connect(outbox_url, None, "relay") as connection:
            position.look_by_index(connection)
            yield connection


def parameters(connection: Database, limit: int = 500) -> dict[str, Any]:
    row = connection.execute(
        "SELECT floor_id, done::text, pg_current_snapshot()::text FROM relay_position WHERE destination = 'event'"
    ).fetchone()
    assert row is not None
    stand = position.Position(str(row[1]), int(str(row[0])), str(row[2]), int(str(row[0])), 0)
    return {
        "floor_id": stand.floor_id,
        "after_id": 0,
        "done": stand.done,
        "target": stand.target,
        "in_progress": stand.in_progress(),
        "destination": "event",
        "lanes": list(range(16)),
        "limit": limit,
    }


@pytest.mark.full
@pytest.mark.timeout(900)
def test_a_look_touches_what_it_returns_and_no_history(long_outbox: Database, outbox_url: str) -> None:
    """A chunk, an empty poll, the check at a connection, a status: each starts from an index, and reads a few pages."""
    asked = parameters(long_outbox)
    assert asked["in_progress"], "the held transaction is in the list"
    for generic in (False, True):
        chunk, scans = explain(long_outbox, position._READ, asked, generic=generic)
        assert scans == {"Index Scan"}
        assert chunk < 500 * 4
        behind = {**asked, "floor_id": asked["floor_id"] + 10**9}
        poll, scans = explain(long_outbox, position._READ, behind, generic=generic)
        assert scans == {"Index Scan"}
        assert poll < 50
    for query in (identity._FOREIGN, identity._SEQUENCE):
        pages, scans = explain(long_outbox, query, {})
        assert "Seq Scan" not in scans, query
        assert pages < 100, query
    pages, scans = explain(long_outbox, standing._STANDINGS, {"at_most": 100_000})
    assert "Seq Scan" not in scans
    log = Log()
    relay(outbox_url, log).drain_once()
    assert len(log.rows()) == 3000
