"""A relay that reads its floor together with its snapshot, in one statement.

Guard removed: the write of its own between the two. A snapshot's upper end is the last *completed* transaction plus
one; a running one above it is in no list. A write that has committed in between puts the end above all of them.
Scenario: ``late_commits``.
Expected verdict: FAIL, with S00 S05 L01 red: the running transaction's ids are below the floor, and it is not listed,
so nobody looks there again. S06 holds.
"""

from chaos.unsafe import Variant, _relays
from services.relay.relay import Relay
from services.relay.session import Session

VARIANT = Variant(
    name="relay_reads_floor_with_snapshot",
    guard="floor-before-snapshot",
    replaces=("services.relay",),
    scenario="late_commits",
    must_fail=frozenset({"S00", "S05", "L01"}),
    may_fail=frozenset({"S09", "S10", "S12", "S15", "S17", "S18", "S19", "S20", "S23"}),
)


class FloorWithSnapshot(Relay):
    """Asks for both at once, which looks more consistent and is not."""

    def _look(self, session: Session) -> tuple[str, int]:
        both = "SELECT pg_current_snapshot()::text, coalesce(pg_sequence_last_value('outbox_id_seq'), 0)"
        row = session.database.execute(both).fetchone()
        assert row is not None
        return str(row[0]), int(str(row[1]))


if __name__ == "__main__":
    _relays.run(relay=FloorWithSnapshot)
