"""The relay of the textbooks: rows claimed by ``FOR UPDATE SKIP LOCKED``, published inside the claiming transaction.

Guard removed: lanes with a lease. Scenario: ``relay_stopped_past_its_lease``.
Expected verdict: FAIL, with S09 red: while one relay sleeps on the rows that it has claimed, the other skips them and
publishes later versions of the same aggregates. S11 holds. A table of its own says what is published.
"""

import os
import sys
import threading
import time
from functools import partial

from chaos.unsafe import Variant
from services.relay import wiring
from services.relay.position import COLUMNS, Database, Row
from services.relay.settings import Settings
from services.relay.transports import Transport
from shared import database, logs, metrics
from shared.lifecycle import run_main, run_together, stop_on_signals
from shared.settings import read

_MARKS = (
    "CREATE TABLE chaos_published (id bigint PRIMARY KEY)",
    "GRANT SELECT, INSERT ON chaos_published TO {0}_relay",
    "GRANT UPDATE ON outbox TO {0}_relay",
)
VARIANT = Variant(
    name="relay_claims_rows",
    guard="lanes",
    replaces=("services.relay",),
    scenario="relay_stopped_past_its_lease",
    must_fail=frozenset({"S09"}),
    may_fail=frozenset({"S00", "S10", "S12", "S15", "S17", "S18", "S19", "S20", "S23", "W02", "W03", "W08", "L01"}),
    before_start={name: tuple(each.format(name) for each in _MARKS) for name in ("orders", "billing")},
    not_applicable={"S05": "a table of its own says what is published, and no position"},
)
_CLAIM = f"""
SELECT {COLUMNS} FROM outbox
WHERE destination = %s AND NOT EXISTS (SELECT FROM chaos_published WHERE chaos_published.id = outbox.id)
ORDER BY id LIMIT 500 FOR UPDATE SKIP LOCKED
"""  # noqa: S608  # a constant of the relay
TURN_SECONDS = 1.0
AT_WORK_SECONDS = 1.9
"""So long a claim is held before it is published, as by a slow broker, and the two relays of an outbox claim in turns:
so each has rows in hand whenever the scenario stops it, and not the few that the other has left over."""


def drain(
    connect: partial[Database], transport: Transport, destination: str, stop: threading.Event, instance: str
) -> None:
    with connect() as connection:
        while not stop.wait(0.01):
            if _is_turn_of(instance):
                with connection.transaction():
                    rows = [Row._make(found) for found in connection.execute(_CLAIM.encode(), (destination,))]
                    stop.wait(AT_WORK_SECONDS if rows else 0)
                    count = transport.publish(rows, 60.0).count if rows else 0
                    done = [row.id for row in rows[:count]]
                    connection.execute("INSERT INTO chaos_published SELECT unnest(%s::bigint[])", (done,))


def _is_turn_of(instance: str) -> bool:
    return int(time.time() / TURN_SECONDS) % 2 == int(instance[-1]) % 2


def main() -> None:
    settings, stop = read(Settings, os.environ), stop_on_signals()
    logs.configure(settings.instance, settings.log_level)
    metrics.serve(settings.metrics_host, settings.metrics_port)
    connect = partial(database.connect, settings.database_url, settings.database_password_file, settings.instance)
    ways = wiring.make_transports(settings)
    run_together(
        {name: partial(drain, connect, way, name, stop, settings.instance) for name, way in ways.items()}, stop
    )


if __name__ == "__main__":
    sys.exit(run_main(main))
