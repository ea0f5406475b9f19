"""What relays still have to publish, read from the outbox and the relay's position beside it.

Invariant: what counts as pending is what a relay would read next, and nothing that is parked.
"""

from dataclasses import dataclass

import psycopg

# Rows behind the floor by id, and late commits below it by transaction, as the relay itself looks for them.
_PENDING = """
SELECT count(*), coalesce(extract(epoch FROM clock_timestamp() - min(occurred_at)), 0)::float
FROM relay_position AS stand
JOIN relay_lane USING (position_id, destination)
JOIN outbox USING (destination, lane)
WHERE (outbox.id > stand.floor_id OR outbox.xid IN (SELECT pg_snapshot_xip(stand.done)))
  AND NOT pg_visible_in_snapshot(outbox.xid, stand.done)
  AND NOT coalesce(outbox.id <= stand.after_id AND pg_visible_in_snapshot(outbox.xid, stand.target), false)
  AND NOT EXISTS (SELECT FROM outbox_parked WHERE outbox_id = outbox.id)
"""
_PARKED = "SELECT count(*) FROM outbox_parked"


_IN_LOT = "SELECT count(*) FROM inbox_parked WHERE state <> 'discarded'"


@dataclass(frozen=True, slots=True)
class Backlog:
    pending: int
    oldest_seconds: float
    """0 when nothing is pending."""
    parked: int


def backlog(url: str) -> Backlog:
    """Return the backlog of one database's outbox."""
    with psycopg.connect(url, connect_timeout=3, autocommit=True) as connection:
        pending, oldest = connection.execute(_PENDING).fetchone() or (0, 0.0)
        (parked,) = connection.execute(_PARKED).fetchone() or (0,)
    return Backlog(pending, oldest, parked)


def parked_deliveries(url: str) -> int:
    """Count what a database's consumers have parked or held, and nobody has given up."""
    with psycopg.connect(url, connect_timeout=3, autocommit=True) as connection:
        (count,) = connection.execute(_IN_LOT).fetchone() or (0,)
        return int(count)


def invoices_without_mail(billing_url: str, notifications_url: str) -> int:
    """Count the invoices whose e-mail has not left, by number, since equal counts could hide one of each."""
    with psycopg.connect(notifications_url, connect_timeout=3) as connection:
        rows = connection.execute("SELECT invoice_number FROM sent_email WHERE state = 'sent'").fetchall()
    sent = {number for (number,) in rows}
    with psycopg.connect(billing_url, connect_timeout=3) as connection:
        return sum(number not in sent for (number,) in connection.execute("SELECT number FROM invoice"))
