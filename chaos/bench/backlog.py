"""An outbox full of events: the same rows for every rival, and a way to begin again at the first of them."""

from typing import Final

from psycopg import Connection

from shared.events import dataschema
from shared.outbox_tables import FIRST_POSITIONS

# A payload of the size and shape of a real OrderPlaced: about 330 bytes.
_FILL: Final = """
INSERT INTO outbox (event_id, aggregate_type, aggregate_id, aggregate_version, destination, type, source, dataschema,
                    payload, traceparent)
SELECT uuidv7(), 'order', md5(%(salt)s || place %% aggregates)::uuid::text, 1 + place / aggregates,
       'event', 'OrderPlaced',
       '/orders', %(dataschema)s,
       CASE WHEN %(poison)s > 0 AND place %% greatest(%(poison)s, 1) = 0 THEN 'not JSON'::bytea
       ELSE convert_to(json_build_object(
         'order_id', md5(%(salt)s || place %% aggregates)::uuid, 'customer_id', 'customer-' || place %% 1000,
         'email', 'customer-' || place %% 1000 || '@example.com', 'currency', 'EUR',
         'amount_minor', 1000 + place %% 9000,
         'lines', json_build_array(json_build_object(
           'sku', 'sku-' || place %% 100, 'quantity', 1, 'unit_price_minor', 1000 + place %% 9000)),
         'placed_at', '2026-01-01T00:00:00.000000+00:00')::text, 'UTF8') END,
       '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
FROM generate_series(0, %(events)s::bigint - 1) AS place,
     (SELECT %(events)s::bigint / %(versions)s + 1) AS _ (aggregates)
ORDER BY place
"""


def fill(connection: Connection, events: int, *, versions: int = 3, poison_every: int = 0) -> None:
    """Let the outbox hold so many events and nothing else, and the relays stand before the first of them."""
    with connection.transaction():
        connection.execute("TRUNCATE outbox, outbox_parked RESTART IDENTITY")
    add(connection, events, versions=versions, poison_every=poison_every)
    connection.execute("VACUUM (ANALYZE) outbox")
    start_over(connection)


def add(connection: Connection, events: int, *, salt: str = "", versions: int = 3, poison_every: int = 0) -> None:
    """Write so many events more, in one transaction, of aggregates that belong to the salt.

    The versions of an aggregate stand apart by the number of aggregates, as in life. With ``poison_every`` 100 each
    hundredth payload cannot be read.
    """
    values = {
        "events": events,
        "salt": salt,
        "versions": versions,
        "poison": poison_every,
        "dataschema": dataschema("OrderPlaced"),
    }
    connection.execute(_FILL, values)


def all_done(connection: Connection) -> None:
    """Put the relays behind the last row: all of it is history."""
    connection.execute(
        "UPDATE relay_position SET done = pg_current_snapshot(), floor_id = (SELECT coalesce(max(id), 0) FROM outbox)"
    )


def start_over(connection: Connection) -> None:
    """Put the relays back before the first row: new positions, as after a migration."""
    with connection.transaction():
        connection.execute("DELETE FROM relay_lane")
        connection.execute("DELETE FROM relay_position")
        connection.execute("DELETE FROM relay_member")
        connection.execute(FIRST_POSITIONS)
