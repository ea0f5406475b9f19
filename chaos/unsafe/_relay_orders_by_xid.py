"""A relay that reads in the order of transactions, ``(xid, id)``, up to the oldest one that still runs.

Guard removed: the order by id inside a snapshot. Nothing is lost this way, and a long transaction holds everybody up.
Scenario: none; the hammer finds it (``python -m tests.hammer --wrong _relay_orders_by_xid``).
Would be red: S09 S10 red: a writer that has its transaction id before it gets the aggregate's lock
writes a later version under an earlier id. S11 holds.
"""

from typing import LiteralString

from chaos.unsafe import _relays
from services.relay.lanes import Held
from services.relay.position import COLUMNS, Position, Row
from services.relay.relay import Relay
from services.relay.session import Session

_READ: LiteralString = f"""
SELECT xid::text, {COLUMNS}
FROM outbox
WHERE (xid, id) > (pg_snapshot_xmin(%(done)s::pg_snapshot), %(after_id)s)
  AND xid < pg_snapshot_xmin(%(target)s::pg_snapshot) AND destination = %(destination)s AND lane = ANY(%(lanes)s)
ORDER BY xid, id LIMIT %(limit)s
"""  # noqa: S608  # a constant of the relay


class OrdersByXid(Relay):
    """The cursor is a transaction (kept as the snapshot before it) and the id done in it."""

    def _advance(self, session: Session, held: Held, position: Position) -> tuple[Position, int]:
        place = {"done": position.done, "after_id": position.after_id, "target": position.target}
        where = {"destination": self._destination, "lanes": list(held.lanes), "limit": self._pace.chunk_size}
        found = session.database.execute(_READ, place | where, binary=True).fetchall()
        rows = [Row._make(values) for _xid, *values in found]
        count = self._sender.publish(session, held, rows).count if rows else 0
        if not count:
            return held.position, 0
        xid = found[count - 1][0]
        return Position(f"{xid}:{xid}:", 0, None, None, rows[count - 1].id), count


if __name__ == "__main__":
    _relays.run(relay=OrdersByXid)
