"""A relay that reads what lies behind the highest id that it has done: ``id > last``.

Guard removed: the transactions in progress, which a position remembers beside its floor.
Scenario: ``late_commits``.
Expected verdict: FAIL, with S00 S05 L01 red: ids are drawn before commit, so a transaction that commits late has ids
below the cursor, and its events never leave. S06 holds.
"""

from dataclasses import replace

from chaos.unsafe import Variant, _relays
from services.relay.lanes import Held
from services.relay.position import Position, Row
from services.relay.relay import Relay
from services.relay.session import Session

VARIANT = Variant(
    name="relay_reads_by_id",
    guard="late-commits",
    replaces=("services.relay",),
    scenario="late_commits",
    must_fail=frozenset({"S00", "S05", "L01"}),
    may_fail=frozenset({"S09", "S10", "S12", "S15", "S17", "S18", "S19", "S20", "S23"}),
)


class ReadsById(Relay):
    """The floor is the highest id that can be seen, and nothing below it is pending, whoever was still running."""

    def _look(self, session: Session) -> tuple[str, int]:
        row = session.database.execute(
            "SELECT pg_current_snapshot()::text, coalesce(max(id), 0) FROM outbox"
        ).fetchone()
        assert row is not None
        return str(row[0]), int(str(row[1]))

    def _read(self, session: Session, held: Held, position: Position, size: int) -> list[Row]:
        return super()._read(session, held, replace(position, done="1:1:"), size)


if __name__ == "__main__":
    _relays.run(relay=ReadsById)
